/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options: one row each. The core finds the value (volfile, command line, default), checks it and
 * stores it in a field of this->private before init runs. `windlass help` prints the same rows.
 */
#ifndef WINDLASS_CORE_EDGE_OPTION_H
#define WINDLASS_CORE_EDGE_OPTION_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The syntax of a value, and the C type of its field. */
enum option_type {
    OPTION_BOOL,    /* on yes true enable 1, off no false disable 0, any case; bool */
    OPTION_INT,     /* decimal, 0x, 0 octal; int or int64_t */
    OPTION_DOUBLE,  /* decimal, not negative unless min says so; double */
    OPTION_SIZE,    /* number with B KB MB GB TB PB, of 1024; uint64_t, bytes */
    OPTION_PERCENT, /* number with or without %, 0 to 100; double */
    OPTION_PERCENT_OR_SIZE, /* % decides; struct option_share */
    OPTION_TIME,    /* number with us ms s sec m min h hr d days w wk, seconds if none; int64_t,
                       nanoseconds */
    OPTION_PATH,    /* absolute, without ..; char * */
    OPTION_STRING,  /* anything; char * */
    OPTION_ENUM,    /* the name of one of values, any case; int, its number */
    OPTION_XLATOR,  /* the name of a volume; char * */
};

/* A value of an OPTION_ENUM. Several names may have the same number. */
struct option_choice {
    const char *name;
    int number;
};

/* All names of a boolean, as choices. */
#define OPTION_NAMES_ON(number_)                                                                   \
    { "on", number_ }, { "yes", number_ }, { "true", number_ }, { "enable", number_ },             \
    { "1", number_ }
#define OPTION_NAMES_OFF(number_)                                                                  \
    { "off", number_ }, { "no", number_ }, { "false", number_ }, { "disable", number_ },           \
    { "0", number_ }

/* Choices for several options: "auto" or a boolean; the levels of the log (gf_loglevel_t). */
enum option_switch { SWITCH_AUTO, SWITCH_ON, SWITCH_OFF };
extern const struct option_choice option_switches[], option_log_levels[];

struct option_share {
    bool percent;
    double amount; /* percent, or bytes */
};

/* Whether the volfile of a server may set an option. Its user does not see such a volfile before it
 * is mounted, so it must not name files, sockets and programs of the user's machine. */
enum option_from_server {
    SERVER_BY_TYPE, /* a path or text: no; anything else: yes */
    SERVER_MAY,     /* a path or text that names nothing of this machine */
    SERVER_MAY_IN_TLS_FOLDER, /* a path below a folder of certificates and keys. Another one is
                               * ignored, with a warning */
};

#define OPTION_KEYS 4

struct xlator_option {
    const char *key[OPTION_KEYS]; /* name and aliases; the table ends with a row without key */
    enum option_type type;
    size_t offset, size;  /* of the field: OPTION_FIELD; size 0: checked, not stored */
    const char *value;    /* default, in the syntax of a volfile; NULL: none, the field is all
                           * zeros */
    double min, max;      /* both 0: no range. In the field's unit, for OPTION_TIME in seconds */
    int (*check) (const char *text, char **ret_allowed); /* checks a text further; returns as
                                                          * option_parse */
    const struct option_choice *values; /* OPTION_ENUM: the last has no name */
    bool root; /* for OPTION_PATH: a directory, which init gets opened: core/edge/root.h */
    bool required;
    const char *excludes; /* name of another option that must not be set as well */
    const char *at_most;  /* for OPTION_SIZE or an int64_t: the name of another option of the same
                           * kind, which is the upper limit */
    bool online;          /* may change while the graph runs: reconfigure takes it over */
    bool secret;          /* a password: no report shows the value */
    enum option_from_server from_server;
    const char *local_value; /* OPTION_ENUM: the value that a server's volfile may not set */
    bool inert;           /* accepted for GlusterFS, without effect; the first use logs that */
    const char *help;     /* one sentence, without a full stop */
};

/* The beginning of a row: the key, the type, the field, and the default, which may be NULL. Members
 * that the row needs besides follow it, .key[1] for an alias among them:
 *
 *   { OPTION ("cache-size", SIZE, private_t, cache_size, "1MB"), .min = 4096, .online = true,
 *     .help = "the maximum memory of all files" },
 */
#define OPTION(key_, type_, struct_, field_, value_)                                               \
    .key = { key_ }, .type = OPTION_##type_, OPTION_FIELD (struct_, field_), .value = value_

/* The beginning of a row of an option that GlusterFS has and that does nothing here. */
#define OPTION_INERT(key_, type_, help_)                                                           \
    .key = { key_ }, .type = OPTION_##type_, .inert = true, .help = help_

#define OPTION_FIELD(struct_, field_)                                                              \
    .offset = offsetof (struct_, field_), .size = sizeof (((struct_ *) 0)->field_)

/* Checks text against a row. If field is not NULL, stores the value in it; strings are allocated,
 * and option_clear frees them. Returns 0, or -EINVAL with the allowed values in *ret_allowed
 * (g_free it): "must be 4KB to 1GB". */
int option_parse (const struct xlator_option *option, const char *text, void *field,
                  char **ret_allowed);

/* Returns whether a value may name a thing of this machine, so that a server may not set it as it
 * is. */
bool option_is_local (const struct xlator_option *option, const char *text);

/* For .check: accepts the name of a file in a directory, or an empty text. */
int option_check_name (const char *text, char **ret_allowed);

/* Returns the names of an OPTION_ENUM's values, NULL at the end; g_free the array alone. Returns
 * NULL for an option of another type. */
const char **option_value_names (const struct xlator_option *option);

/* Returns the first name of a number. */
const char *option_choice_name (const struct option_choice *choices, int number);

/* Frees the strings in the fields that the rows describe. */
void option_clear (const struct xlator_option *options, void *private);

/* Returns the row that has key as its name or alias, or NULL. */
const struct xlator_option *option_find (const struct xlator_option *options, const char *key);

/* Returns " (KEY: HELP)", or "": the end of a message about a refused value. g_free it. */
char *option_purpose (const struct xlator_option *option);

/* Returns the values that a row allows: "on or off", "4KB to 1GB", "one of a, b, c". g_free it. */
char *option_allowed (const struct xlator_option *option);
const char *option_type_name (enum option_type type);

/* Returns 1048576 as "1MB". g_free it. */
char *option_size_text (uint64_t bytes);

#endif
