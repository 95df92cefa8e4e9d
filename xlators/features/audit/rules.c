/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands behind the arrow of a rule: record or skip. */
#include "audit.h"

struct audit_action {
    bool records;
};

const char audit_default_rules[] =
    "create,mkdir,mknod,symlink,link,rename,unlink,rmdir,tmpfile,open,truncate,ftruncate,"
    "setattr,fsetattr,setxattr,fsetxattr,removexattr,fremovexattr -> record";

bool
audit_rule_records (const struct rule *rule)
{
    return ((const struct audit_action *) rule->action)->records;
}

static void
audit_read_action (struct rule_reader *reader, struct rule *rule)
{
    static const char *const words[] = { "record", "skip", NULL };
    struct audit_action *action = rule->action;

    action->records = rule_reader_is (reader, "record");
    if (!action->records && !rule_reader_is (reader, "skip")) {
        rule_expected_one (reader, "record or skip", words);
        return;
    }
    rule_reader_next (reader);
    if (!rule_reader_ends_line (reader))
        rule_expected (reader, "the end of the line", NULL);
}

static void
audit_print_action (const struct rule *rule, GString *out)
{
    g_string_append (out, audit_rule_records (rule) ? "record" : "skip");
}

const struct rule_grammar audit_grammar = {
    .action_size = sizeof (struct audit_action),
    .read_action = audit_read_action,
    .print_action = audit_print_action,
};
