/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For users: whether a rule that rules_for has found is really for a file. */
#ifndef WINDLASS_CORE_RULES_RULE_DOUBT_H
#define WINDLASS_CORE_RULES_RULE_DOUBT_H

#include "core/rules/rules.h"

/* Returns what else of the file must fit and is not known, as "owner or mode" or "type"; NULL:
 * nothing. The file is not asked, since it may be what hangs. inode: NULL if it isn't known. */
const char *rule_doubt (xlator_t *this, const struct rule *rule, inode_t *inode);

/* For explain: appends a line for a rule, "this rule is for it: line 3 of FILE: RULE", or, if that
 * is in doubt, "this rule may be for it (...)". */
void rule_explain (xlator_t *this, const struct rules *rules, const struct rule *rule,
                   inode_t *inode, GString *out);

#endif
