/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a record: features-audit(7) has the members. */
#include "audit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* Appends `,"key":"text"`, and the bytes in hexadecimal as key_hex if they are not UTF-8. */
static void
audit_append_text (GString *out, const char *key, const char *text)
{
    g_string_append_printf (out, ",\"%s\":", key);
    json_append_string (out, text);
    if (!text || g_utf8_validate (text, -1, NULL))
        return;
    g_string_append_printf (out, ",\"%s_hex\":\"", key);
    for (; *text; text++)
        g_string_append_printf (out, "%02x", (unsigned char) *text);
    g_string_append_c (out, '"');
}

/* The kernel has no process for a write that comes from its page cache, and no user. */
static void
audit_append_caller (GString *out, const call_stack_t *root, enum fop op, const char *program)
{
    const bool known = root->pid > 0;

    if (known || op != FOP_writev)
        g_string_append_printf (out, ",\"uid\":%u,\"gid\":%u", root->uid, root->gid);
    else
        g_string_append (out, ",\"uid\":null,\"gid\":null");
    if (known)
        g_string_append_printf (out, ",\"pid\":%d", root->pid);
    else
        g_string_append (out, ",\"pid\":null");
    audit_append_text (out, "program", *program ? program : NULL);
}

/* Operations with a range of bytes. */
#define AUDIT_RANGES                                                                               \
    (OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev) | OPSET_OF (FOP_truncate)                        \
     | OPSET_OF (FOP_ftruncate) | OPSET_OF (FOP_fallocate) | OPSET_OF (FOP_discard)                \
     | OPSET_OF (FOP_zerofill) | OPSET_OF (FOP_copy_file_range))
/* Those whose result is a number of bytes. */
#define AUDIT_COUNTS                                                                               \
    (OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev) | OPSET_OF (FOP_copy_file_range))

/* For which access a file was opened; one that is emptied is changed. */
static const char *
audit_access (uint32_t flags)
{
    const uint32_t access = flags & O_ACCMODE;

    if (access == O_RDONLY)
        return flags & O_TRUNC ? "read-write" : "read";
    return access == O_WRONLY ? "write" : "read-write";
}

static void
audit_append_data (GString *out, const struct audit_local *local, const struct answer *answer)
{
    if (answer->op == FOP_open || answer->op == FOP_create)
        g_string_append_printf (out, ",\"access\":\"%s\"", audit_access (local->flags));
    if (opset_has (AUDIT_RANGES, answer->op))
        g_string_append_printf (out, ",\"offset\":%" PRIu64 ",\"size\":%" PRIu64, local->offset,
                                local->size);
    if (opset_has (AUDIT_COUNTS, answer->op) && answer->op_ret >= 0)
        g_string_append_printf (out, ",\"bytes\":%d", answer->op_ret);
}

void
audit_record (GString *out, const struct audit_local *local, const struct answer *answer,
              bool passed)
{
    const call_stack_t *root = answer->frame->root;

    g_string_append_printf (out, "\"wind\":%" PRIu64 ",", local->wind);
    record_append_time (out, root->ctime);
    g_string_append_printf (out, ",\"volume\":");
    json_append_string (out, answer->this->name);
    g_string_append_printf (out, ",\"operation\":\"%s\"", fop_name (answer->op));
    if (local->path)
        audit_append_text (out, "path", local->path);
    if (local->new_path)
        audit_append_text (out, "new_path", local->new_path);
    audit_append_caller (out, root, answer->op, local->program);
    audit_append_data (out, local, answer);
    g_string_append_printf (out, ",\"result\":\"%s\",\"rule\":%d",
                            answer->op_ret < 0 ? error_name (answer->op_errno) : "ok",
                            local->rule);
    if (!passed)
        g_string_append (out, ",\"refused\":true");
}

/* --- the log itself --------------------------------------------------------------------------- */

static const struct {
    opset_t ops; /* that rules ask for */
    const char *what;
} audit_unseen[] = {
    { OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev), "mapped pages in memory" },
    { OPSET_OF (FOP_readlink), "cached symbolic links" },
    { OPSET_OF (FOP_access), "checks of rights by the kernel" },
};

static bool
audit_append_each_unseen (GString *out, opset_t ops, const char *quote, const char *between)
{
    const char *before = "";

    for (size_t i = 0; i < G_N_ELEMENTS (audit_unseen); i++)
        if (ops & audit_unseen[i].ops) {
            g_string_append_printf (out, "%s%s%s%s", before, quote, audit_unseen[i].what, quote);
            before = between;
        }
    return *before;
}

static void
audit_append_unseen (GString *out, opset_t ops)
{
    g_string_append (out, ",\"not_seen\":[");
    audit_append_each_unseen (out, ops, "\"", ",");
    g_string_append_c (out, ']');
}

void
audit_explain_unseen (opset_t ops, GString *out)
{
    g_autoptr (GString) what = g_string_new (NULL);

    if (audit_append_each_unseen (what, ops, "", ", "))
        g_string_append_printf (out, "not seen: %s (rules)\n", what->str);
}

void
audit_note (xlator_t *this, const char *event, const char *policy)
{
    audit_private_t *priv = this->private;
    const opset_t ops = rules_ops_for (this, &priv->slot, NULL);
    struct rule_set *set = rules_get (&priv->slot);
    g_autoptr (GString) body = g_string_new (NULL);

    record_append_time (body, clock_today ());
    audit_append_text (body, event, this->name);
    audit_append_text (body, "rules", set->rules->file);
    g_string_append_printf (body, ",\"rules_sha256\":\"%s\",\"when_full\":\"%s\"",
                            priv->rules_sum, policy);
    audit_append_unseen (body, ops);
    record_log_note (priv->log, body->str);
    shared_unref (&set->shared);
}
