/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules: which requests a translator treats in a way of its own. A rule is a line of a text,
 *
 *   fsync path "*.db-journal" uid 1000.. -> error EIO
 *
 * The operations and the conditions, up to the arrow, are the same for all translators; what comes
 * behind it is the translator's own (struct rule_grammar). windlass-rules(7) has the language.
 *
 * A translator with rules keeps a struct rules_slot, sets WANTS_INODE, xlator_api.rules and
 * any_fop_marks, calls rules_forget from its forget, and looks for a rule in its any_fop:
 *
 *   rule_walk_begin (&walk, &priv->slot, call);
 *   rule = rule_walk_next (&walk);          each rule that the call meets, in the order of the text
 *   if (rule) set = shared_ref (&walk.set->shared);      to keep the rule until the answer
 *   rule_walk_end (&walk);
 *
 * Which paths a rule fits is found out once for each inode, and kept in its context until one of
 * its names changes or a directory moves (names_are_of, core/data/inode.h). A call on an inode or
 * an open file therefore builds no path. A call on a name in a directory builds the path only if
 * the directory's path, and the end of the name, leave it possible that a pattern matches. A call
 * that no rule can be for, by its operation and by its inode, is passed on before any_fop sees it
 * (struct any_fop_mark).
 *
 * Rules in force are constant, and read without a lock (core/time/read-section.h).
 */
#ifndef WINDLASS_CORE_RULES_RULES_H
#define WINDLASS_CORE_RULES_RULES_H

#include "core/base/process.h"
#include "core/base/replaceable.h"
#include "core/data/iatt.h"
#include "core/edge/any-fop.h"
#include "core/table/opset.h"

#define RULES_MAX 1000           /* rules in one text */
#define RULES_SIZE_MAX (1 << 20) /* bytes of a text */
#define RULES_ERRORS_MAX 20      /* errors that are reported before parsing ends */
#define RULE_TEXT_MAX 4096       /* bytes of a pattern or a name */

struct rule;
struct rule_reader; /* core/rules/rule-reader.h */

/* --- texts of rules --------------------------------------------------------------------------- */

/* A translator's part of the language. Constant. */
struct rule_grammar {
    size_t action_size;             /* of rule->action, which is zeroed before the rule is read */
    const char *const *conditions;  /* words of further conditions, NULL at the end; or NULL */
    /* Reads the value of conditions[number]. */
    void (*read_condition) (struct rule_reader *reader, unsigned number, struct rule *rule);
    /* Reads what is behind the arrow, up to the end of the line. */
    void (*read_action) (struct rule_reader *reader, struct rule *rule);
    void (*print_conditions) (const struct rule *rule, GString *out); /* each after a blank; or
                                                                       * NULL */
    void (*print_action) (const struct rule *rule, GString *out);
    void (*clear_action) (void *action); /* frees what it points to; or NULL */
};

/* Numbers from first to last, inclusive. */
struct rule_range {
    bool given;
    uint64_t first, last;
};

/* Permission bits, compared as find(1) does with -perm. */
struct rule_mode {
    enum { MODE_NOT_GIVEN, MODE_EXACT, MODE_ALL_OF, MODE_ANY_OF } how;
    mode_t bits;
};

/* A rule. A condition that is not given holds for all requests. */
struct rule {
    int line;
    opset_t ops;
    char *path, *process;       /* patterns of fnmatch, or NULL */
    char *volume;               /* the own name of the translator, or NULL */
    struct rule_range uid, gid, pid; /* of the caller */
    struct rule_range offset, size;
    struct rule_range owner;    /* uid of the file */
    unsigned types;             /* of the file: a bit for each ia_type_t; 0: not given */
    struct rule_mode mode;      /* of the file */
    size_t path_start, path_end; /* bytes at the start and at the end of path that stand for
                                  * themselves */
    size_t process_start;        /* the same at the start of process */
    const struct rule_grammar *grammar;
    void *action;               /* the translator's */
};

struct rules {
    unsigned n;
    struct rule *rules;
    char *file; /* as in messages */
};

/* Parses a text, which may contain any bytes. On errors returns NULL, and in *ret_error (freed with
 * g_free) a line for each: "file:line:column: what, and what is allowed". */
struct rules *rules_parse (const char *text, size_t size, const char *file,
                           const struct rule_grammar *grammar, char **ret_error);
void rules_free (struct rules *rules); /* takes NULL */

/* Appends the rule as a line that parses to the same rule, without the newline. */
void rule_print (const struct rule *rule, GString *out);

/* --- rules in force --------------------------------------------------------------------------- */

/* Rules in force, with what a translator keeps with them: its own struct begins with this one, and
 * shared.free calls rule_set_clear. */
struct rule_set {
    struct shared shared;
    struct rules *rules;
    opset_t ops;     /* of all rules */
    opset_t teaching; /* operations whose answers rules_learn must see; 0: none */
    struct rule_verdicts *verdicts; /* of core/rules/verdict.c */
};

/* A translator's place for its rules in force. Zeroed: none yet. */
struct rules_slot {
    struct rule_set *now; /* atomic; holds a reference */
};

/* Fills in the set, which takes over rules. this: a rule for another volume is for no request. */
void rule_set_init (struct rule_set *ret_set, struct rules *rules, const xlator_t *this,
                    void (*free) (void *set));
void rule_set_clear (struct rule_set *set);

/* Puts the set in force, and takes over its reference; NULL: at the end of the translator. Returns
 * when no thread looks at the old set any more, and gives the reference to that to the caller; NULL
 * the first time. One thread at a time. */
struct rule_set *rules_replace (struct rules_slot *slot, struct rule_set *set);

/* Returns the set in force, with a reference. Not on the path of a request. */
struct rule_set *rules_get (struct rules_slot *slot);

/* --- requests --------------------------------------------------------------------------------- */

/* Looks for the rules that a call meets. Lent to the thread between begin and end, where it is in a
 * read section. */
struct rule_walk {
    struct rule_set *set;
    /* The attributes of the file are not known, and a rule asks for its owner or mode: only
     * rules_ask finds out whether the call meets it. Set by rule_walk_next, which then returns
     * NULL. */
    bool asks;
    bool teaches; /* rules_learn must see the answer */
    /* the rest is for match.c */
    const struct call *call;
    const struct rule_verdict *verdict, *new_verdict; /* of the inode, or of the directory */
    GSList *made; /* verdicts for this call alone */
    bool by_name;
    unsigned next; /* the next rule */
    bool has_paths, has_process, has_file;
    char *path, *new_path, process[PROCESS_NAME_SIZE];
    struct rule_file {
        bool known, asked;
        ia_type_t type;
        uid_t owner;
        mode_t mode;
    } file;
};

void rule_walk_begin (struct rule_walk *ret_walk, struct rules_slot *slot, const struct call *call);
const struct rule *rule_walk_next (struct rule_walk *walk); /* NULL: no more */
void rule_walk_end (struct rule_walk *walk);

/* For walk.asks, after rule_walk_end: sets the call aside, gets the attributes of its file from the
 * first child, and calls any_fop again. */
void rules_ask (const struct call *call);

/* For the answers of the operations in set->teaching: remembers the attributes that the answer
 * has, or that those which are remembered don't hold any more. inode: of the call's file, or NULL.
 * To be called before the answer is passed on. */
void rules_learn (const struct answer *answer, inode_t *inode);

/* For xlator_cbks.forget. */
void rules_forget (xlator_t *this, inode_t *inode);

/* What the translator itself keeps of an inode, since the rules have its context: NULL if there is
 * nothing. rules_own_make makes it if there is none, as inode_ctx_make does; rules_forget passes it
 * to drop. */
void *rules_own (xlator_t *this, inode_t *inode);
void *rules_own_make (xlator_t *this, inode_t *inode,
                      void *(*fresh) (xlator_t *this, inode_t *inode), void (*drop) (void *own));

/* Returns the operations on the inode that a rule may be for, by its paths; NULL: on any inode. */
opset_t rules_ops_for (xlator_t *this, struct rules_slot *slot, inode_t *inode);

/* For users: calls fn with each rule in force whose path, and whose type, owner and mode as far as
 * they are known, fit the file. Returns their number. inode: NULL if it isn't known. */
unsigned rules_for (xlator_t *this, struct rules_slot *slot, const char *path, inode_t *inode,
                    void (*fn) (const struct rules *rules, const struct rule *rule, void *data),
                    void *data);

#endif
