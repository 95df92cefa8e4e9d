/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes scripts from a seed. A script has few names, so that clients use the same files. Its
 * offsets are near page boundaries, so that writes overlap. It uses only some of the verbs, and
 * most of its lines have the same path, offset and size: errors of caches are found by repeated
 * operations on one place. If the seed is a multiple of 3, most reads of an open file begin where
 * its last read ended. One script of four is narrow (history.h): its verbs and its two or three
 * names are from one row of the table `themes` below. In most rows the first line makes the first
 * of the names.
 */
#include "conform/history/history.h"
#include "core/time/random.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

struct maker {
    struct random_source random;
    unsigned abilities; /* CAN_*: operations that the graph supports */
    const char *const *commands; /* names of commands; NULL: none */
    bool open[CLIENTS_MAX][CLIENT_FDS]; /* for each client, whether its f0, f1 and f2 are open after
                                           the lines so far, if none of these fails */
    uint32_t left_out; /* bit for each verb that the script does not use */
    char *path;        /* path of most lines */
    off_t offset;      /* offset of most lines */
    size_t size;       /* size of most lines */
    bool in_order;     /* whether most reads begin where the last read of the open file ended */
    off_t next[CLIENTS_MAX][CLIENT_FDS]; /* for each open file, offset of that end */
    const struct theme *theme; /* row of themes if the script is narrow (history.h), or NULL */
    uint32_t asks, changes;    /* bit for each verb of the row's asks and changes that the script
                                  uses */
    bool apart;                /* whether the first client only changes objects, and the other
                                  clients only read them */
};

#define BIT(verb_) (1u << VERB_##verb_) /* bit for a verb in a set of verbs */

/* A narrow script (history.h) is about one kind of data in a cache, for example the attributes of a
 * file. Each row has the verbs and paths for one kind. */
static const struct theme {
    uint32_t asks, changes; /* bit for each verb that reads the data, and that changes them */
    const char *paths[3]; /* paths of the lines, the most frequent first */
    enum verb begins;     /* verb of the first line, which makes the first path; VERB_MAX: none
                           * does */
} themes[] = {
    { BIT (stat) | BIT (fstat),
      BIT (write) | BIT (truncate) | BIT (ftruncate) | BIT (chmod),
      { "a", "a", "b" },
      VERB_create },
    { BIT (ls) | BIT (stat),
      BIT (write) | BIT (truncate) | BIT (chmod),
      { "a", "a", "b" },
      VERB_create },
    { BIT (read) | BIT (cat) | BIT (fstat),
      BIT (write) | BIT (truncate) | BIT (ftruncate) | BIT (zerofill) | BIT (copy),
      { "a", "a", "b" },
      VERB_create },
    { BIT (getxattr) | BIT (stat),
      BIT (setxattr) | BIT (removexattr),
      { "a", "a", "a" },
      VERB_create },
    { BIT (stat) | BIT (ls),
      BIT (link) | BIT (unlink) | BIT (rename) | BIT (create),
      { "a", "b", "c" },
      VERB_create },
    { BIT (stat),
      BIT (mkdir) | BIT (rmdir) | BIT (create) | BIT (unlink),
      { "d/a", "d/a", "d/b" },
      VERB_MAX },
    { BIT (stat) | BIT (ls),
      BIT (mkdir) | BIT (rmdir) | BIT (create) | BIT (unlink) | BIT (rename),
      { "d", "d/a", "e" },
      VERB_mkdir },
    { BIT (cat) | BIT (readlink),
      BIT (unlink) | BIT (rename) | BIT (symlink) | BIT (write),
      { "a", "b", "a" },
      VERB_create },
};

static unsigned
below (struct maker *maker, unsigned limit)
{
    return random_below (&maker->random, limit);
}

#define ONE_OF(maker_, values_) (values_)[below (maker_, G_N_ELEMENTS (values_))]

G_STATIC_ASSERT (VERB_MAX <= 32);

static char *
theme_path (struct maker *maker)
{
    const unsigned one = below (maker, 3), other = below (maker, 3);

    return g_strdup (maker->theme->paths[MIN (one, other)]);
}

/* Returns a random path. The first paths of the array are more likely than the last ones. */
static char *
any_path (struct maker *maker)
{
    static const char *const paths[] = { "a", "b", "d", "d/a", "c", "d/b", "e", "e/a" };
    const unsigned one = below (maker, 8), other = below (maker, 8);

    return g_strdup (paths[MIN (one, other)]);
}

static char *
some_path (struct maker *maker)
{
    if (maker->theme)
        return theme_path (maker);
    return below (maker, 4) ? g_strdup (maker->path) : any_path (maker);
}

static off_t
any_offset (struct maker *maker)
{
    static const off_t places[] = { 0, 0, 8, 100, 4096, 4096, 8192, 32768 };
    const off_t offset = ONE_OF (maker, places) + (off_t) below (maker, 3) * 8 - 8;

    return MAX (offset, 0);
}

static off_t
some_offset (struct maker *maker)
{
    return below (maker, 4) && !maker->theme ? maker->offset : any_offset (maker);
}

static size_t
any_size (struct maker *maker)
{
    static const size_t sizes[] = { 1, 8, 16, 24, 100, 4000, 4096, 5000, 16384 };

    return ONE_OF (maker, sizes);
}

static size_t
some_size (struct maker *maker)
{
    return below (maker, 4) ? maker->size : any_size (maker);
}

static uint32_t
some_flags (struct maker *maker, enum verb verb)
{
    static const uint32_t open[] = {
        O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDWR | O_APPEND, O_RDWR | O_APPEND, O_RDONLY, O_WRONLY
    };
    static const uint32_t rename[] = { 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE };
    static const uint32_t xattr[] = { 0, 0, XATTR_CREATE, XATTR_REPLACE };
    uint32_t flags;

    switch (verb_takes (verb, "ORKX")) {
    case 'O':
        flags = ONE_OF (maker, open) | (below (maker, 8) == 0 ? O_TRUNC : 0);
        return flags | (verb == VERB_create && below (maker, 3) == 0 ? O_EXCL : 0);
    case 'R':
        flags = ONE_OF (maker, rename);
        return maker->abilities & CAN_EXCHANGE ? flags : 0;
    case 'K':
        return below (maker, 2) ? FALLOC_FL_KEEP_SIZE : 0;
    case 'X':
        return ONE_OF (maker, xattr);
    default:
        return 0;
    }
}

static char *
some_word (struct maker *maker, enum verb verb)
{
    switch (verb_takes (verb, "dtac")) {
    case 'd':
        return some_path (maker);
    case 'c':
        return g_strdup (maker->commands[below (maker,
                                                g_strv_length ((char **) maker->commands))]);
    case 't':
        return g_strdup (below (maker, 2) ? "a" : "nowhere");
    case 'a':
        return g_strdup (below (maker, maker->theme ? 8 : 2) ? "user.x" : "user.y");
    default:
        return NULL;
    }
}

/* Returns the number (0 to 2 for f0 to f2) of a file that the client has open, if open is true, or
 * that it does not have open, if open is false. Returns -1 if there is none. */
static int
some_fd (struct maker *maker, unsigned client, bool open)
{
    const unsigned first = below (maker, CLIENT_FDS);

    for (unsigned i = 0; i < CLIENT_FDS; i++)
        if (maker->open[client][(first + i) % CLIENT_FDS] == open)
            return (first + i) % CLIENT_FDS;
    return -1;
}

/* Returns the relative frequency of the verb in a narrow script: about half of the lines read, half
 * change, and a few open files. */
static unsigned
theme_weight (const struct maker *maker, unsigned client, enum verb verb)
{
    const bool asks = maker->asks & 1u << verb && !(maker->apart && client == 0);
    const bool changes = maker->changes & 1u << verb && !(maker->apart && client > 0);

    if (asks || changes)
        return 12 / (unsigned) __builtin_popcount (asks ? maker->asks : maker->changes);
    return verb == VERB_open || verb == VERB_command;
}

static unsigned
weight_of (const struct maker *maker, unsigned client, enum verb verb)
{
    const struct verb_row *row = &verb_rows[verb];

    if ((maker->abilities & row->needs) != row->needs || maker->left_out & 1u << verb)
        return 0;
    if (maker->theme)
        return theme_weight (maker, client, verb);
    return row->weight * (maker->in_order && verb == VERB_read ? 5 : 1);
}

static enum verb
some_verb (struct maker *maker, unsigned client)
{
    unsigned all = 0, at;

    for (enum verb verb = 0; verb < VERB_MAX; verb++)
        all += weight_of (maker, client, verb);
    at = below (maker, all);
    for (enum verb verb = 0;; verb++) {
        const unsigned weight = weight_of (maker, client, verb);
        if (at < weight)
            return verb;
        at -= weight;
    }
}

/* Chooses which of the client's open files the line uses. If the verb needs an open file and the
 * client has none, the line's verb becomes create. If the verb opens a file and all CLIENT_FDS
 * files of the client are open, the line's verb becomes close. */
static void
line_choose_fd (struct maker *maker, struct script_line *line)
{
    const bool opens = verb_takes (line->verb, "pn");
    int fd;

    if (!verb_takes (line->verb, "f"))
        return;
    fd = some_fd (maker, line->client, !opens);
    if (fd < 0) {
        line->verb = opens ? VERB_close : VERB_create;
        fd = some_fd (maker, line->client, opens);
    }
    line->fd = fd;
    line->fd_out = MAX (some_fd (maker, line->client, true), 0);
    maker->open[line->client][fd] = line->verb != VERB_close;
}

/* If maker->in_order is set, changes the line: a read begins where the last read of the open file
 * ended, and a write is large, so that files have much to read. This function draws no random
 * number, so it changes no other line of the script. */
static void
line_put_in_order (struct maker *maker, struct script_line *line)
{
    off_t *next = &maker->next[line->client][line->fd];

    if (!maker->in_order || line->number % 8 == 0)
        return;
    if (line->verb == VERB_create || line->verb == VERB_open)
        *next = 0;
    if (line->verb == VERB_write)
        line->size = MAX (line->size, 12288);
    if (line->verb != VERB_read)
        return;
    line->offset = *next;
    *next += (off_t) line->size;
}

static struct script_line *
line_make (struct maker *maker, unsigned number, unsigned clients)
{
    /* The model does not check access rights. So each mode lets the owner read, write and
     * search. */
    static const mode_t modes[] = { 0744, 0700, 0755, 0711 };
    struct script_line *line = g_new0 (struct script_line, 1);

    line->number = number;
    line->client = below (maker, clients);
    line->verb = some_verb (maker, line->client);
    line_choose_fd (maker, line);
    line->path = some_path (maker);
    line->word = some_word (maker, line->verb);
    line->offset = some_offset (maker);
    line->offset_out = some_offset (maker);
    line->size = some_size (maker);
    line->flags = some_flags (maker, line->verb);
    line->mode = line->verb == VERB_mkdir ? 0755 : ONE_OF (maker, modes);
    if (verb_takes (line->verb, "l") && below (maker, 2))
        line->offset = 0;
    if (verb_takes (line->verb, "u"))
        line->offset = 1000 + number;
    if (line->verb == VERB_ls
        && (maker->theme ? !strchr (maker->theme->paths[1], '/') : below (maker, 2))) {
        g_free (line->path);
        line->path = g_strdup (".");
    }
    if (maker->theme && maker->theme->begins == VERB_MAX
        && (line->verb == VERB_mkdir || line->verb == VERB_rmdir))
        line->path[strlen ("d")] = '\0'; /* cuts the path to the directory `d` */
    line_put_in_order (maker, line);
    return line;
}

/* Returns a random set of most of the bits, but at least one of them. */
static uint32_t
some_bits (struct maker *maker, uint32_t bits)
{
    uint32_t some = 0;

    while (!(some & bits))
        some = (uint32_t) (random_next (&maker->random) | random_next (&maker->random));
    return some & bits;
}

/* Adds the first line of a narrow script: it makes a file or directory at the first path of
 * maker->theme. */
static void
theme_begin (struct maker *maker, struct script *script)
{
    struct script_line *line = g_new0 (struct script_line, 1);

    line->number = 1;
    line->verb = maker->theme->begins;
    line->path = g_strdup (maker->theme->paths[0]);
    line->flags = O_RDWR;
    line->mode = line->verb == VERB_mkdir ? 0755 : 0644;
    line->calm = true;
    maker->open[0][0] = line->verb == VERB_create;
    g_ptr_array_add (script->lines, line);
}

static void
theme_choose (struct maker *maker)
{
    const uint32_t unable = maker->abilities & CAN_XATTRS
                              ? 0
                              : BIT (getxattr) | BIT (setxattr) | BIT (removexattr);

    do {
        maker->theme = &ONE_OF (maker, themes);
    } while (maker->theme->changes & unable);
    maker->asks = some_bits (maker, maker->theme->asks);
    maker->changes = some_bits (maker, maker->theme->changes);
    maker->left_out = 0;
    maker->apart = below (maker, 2);
}

struct script *
script_make (const struct conform_options *options, uint64_t seed, unsigned abilities)
{
    struct maker maker = { .random = { seed }, .abilities = abilities,
                           .commands = options->commands };
    const uint32_t always = BIT (create) | BIT (open) | BIT (read) | BIT (write) | BIT (command);
    struct script *script = script_begin (seed, options->clients, options->faults);

    maker.in_order = seed % 3 == 0;
    maker.left_out = (uint32_t) (random_next (&maker.random) | random_next (&maker.random))
                   & ~always;
    maker.path = any_path (&maker);
    maker.offset = any_offset (&maker);
    maker.size = any_size (&maker);
    if (script_is_narrow (seed)) {
        theme_choose (&maker);
        if (maker.theme->begins != VERB_MAX)
            theme_begin (&maker, script);
    }
    for (unsigned i = script->lines->len; i < options->steps; i++)
        g_ptr_array_add (script->lines, line_make (&maker, i + 1, options->clients));
    g_free (maker.path);
    return script;
}
