/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes histories from a seed: few names, so that clients meet; offsets near page boundaries, so
 * that writes overlap. Each history uses only some verbs, more often, and has one or two favourite
 * places: a history with a bit of everything rarely repeats an operation, which is needed to find
 * errors in caches. If the seed is a multiple of 3, files are read in order. And one of four is
 * narrow (history.h): few verbs, of one theme, about two or three names that exist from the
 * beginning.
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
    const struct history_abilities *abilities;
    bool open[CLIENTS_MAX][CLIENT_FDS]; /* as far as the script determines it */
    uint32_t left_out; /* bits of verbs */
    char *path;        /* favourites */
    off_t offset;
    size_t size;
    bool in_order;     /* most reads begin where the last one of the same open file ended */
    off_t next[CLIENTS_MAX][CLIENT_FDS];
    const struct theme *theme; /* of a narrow history, or NULL */
    uint32_t asks, changes;    /* bits of verbs, of the theme */
    bool apart;                /* the first client changes, the others ask */
};

#define BIT(verb_) (1u << VERB_##verb_)

/* The subject of a narrow history: asking and changing clients use the same object. */
static const struct theme {
    uint32_t asks, changes;
    const char *paths[3]; /* the first is the most likely */
    enum verb begins;     /* makes the first one at the beginning; VERB_MAX: none */
} themes[] = {
    { BIT (STAT) | BIT (FSTAT),
      BIT (WRITE) | BIT (TRUNCATE) | BIT (FTRUNCATE) | BIT (CHMOD),
      { "a", "a", "b" },
      VERB_CREATE },
    { BIT (LS) | BIT (STAT),
      BIT (WRITE) | BIT (TRUNCATE) | BIT (CHMOD),
      { "a", "a", "b" },
      VERB_CREATE },
    { BIT (READ) | BIT (CAT) | BIT (FSTAT),
      BIT (WRITE) | BIT (TRUNCATE) | BIT (FTRUNCATE) | BIT (ZEROFILL) | BIT (COPY),
      { "a", "a", "b" },
      VERB_CREATE },
    { BIT (GETXATTR) | BIT (STAT),
      BIT (SETXATTR) | BIT (REMOVEXATTR),
      { "a", "a", "a" },
      VERB_CREATE },
    { BIT (STAT) | BIT (LS),
      BIT (LINK) | BIT (UNLINK) | BIT (RENAME) | BIT (CREATE),
      { "a", "b", "c" },
      VERB_CREATE },
    { BIT (STAT),
      BIT (MKDIR) | BIT (RMDIR) | BIT (CREATE) | BIT (UNLINK),
      { "d/a", "d/a", "d/b" },
      VERB_MAX },
    { BIT (STAT) | BIT (LS),
      BIT (MKDIR) | BIT (RMDIR) | BIT (CREATE) | BIT (UNLINK) | BIT (RENAME),
      { "d", "d/a", "e" },
      VERB_MKDIR },
    { BIT (CAT) | BIT (READLINK),
      BIT (UNLINK) | BIT (RENAME) | BIT (SYMLINK) | BIT (WRITE),
      { "a", "b", "a" },
      VERB_CREATE },
};

/* Relative frequencies. */
static const struct {
    enum verb verb;
    unsigned weight;
} wishes[] = {
    { VERB_CREATE, 8 }, { VERB_OPEN, 8 }, { VERB_CLOSE, 3 }, { VERB_READ, 12 }, { VERB_WRITE, 16 },
    { VERB_CAT, 4 }, { VERB_STAT, 4 }, { VERB_FSTAT, 4 }, { VERB_TRUNCATE, 6 },
    { VERB_FTRUNCATE, 4 }, { VERB_FALLOCATE, 2 }, { VERB_DISCARD, 2 }, { VERB_ZEROFILL, 2 },
    { VERB_COPY, 2 }, { VERB_FLUSH, 1 }, { VERB_FSYNC, 1 }, { VERB_CHMOD, 1 }, { VERB_UTIME, 1 },
    { VERB_MKDIR, 2 }, { VERB_RMDIR, 1 }, { VERB_UNLINK, 3 }, { VERB_RENAME, 4 }, { VERB_LINK, 2 },
    { VERB_SYMLINK, 1 }, { VERB_READLINK, 1 }, { VERB_LS, 2 }, { VERB_SETXATTR, 2 },
    { VERB_GETXATTR, 2 }, { VERB_REMOVEXATTR, 1 },
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

/* Earlier ones are more likely. */
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

    switch (verb) {
    case VERB_CREATE:
    case VERB_OPEN:
        flags = ONE_OF (maker, open) | (below (maker, 8) == 0 ? O_TRUNC : 0);
        return flags | (verb == VERB_CREATE && below (maker, 3) == 0 ? O_EXCL : 0);
    case VERB_RENAME:
        flags = ONE_OF (maker, rename);
        return flags && !maker->abilities->exchange ? 0 : flags;
    case VERB_FALLOCATE:
        return below (maker, 2) ? FALLOC_FL_KEEP_SIZE : 0;
    case VERB_SETXATTR:
        return ONE_OF (maker, xattr);
    default:
        return 0;
    }
}

static char *
some_word (struct maker *maker, enum verb verb)
{
    switch (verb) {
    case VERB_RENAME:
    case VERB_LINK:
        return some_path (maker);
    case VERB_SYMLINK:
        return g_strdup (below (maker, 2) ? "a" : "nowhere");
    case VERB_SETXATTR:
    case VERB_GETXATTR:
    case VERB_REMOVEXATTR:
        return g_strdup (below (maker, maker->theme ? 8 : 2) ? "user.x" : "user.y");
    default:
        return NULL;
    }
}

static bool
is_able (const struct history_abilities *abilities, enum verb verb)
{
    switch (verb) {
    case VERB_FALLOCATE: return abilities->fallocate;
    case VERB_DISCARD: return abilities->discard;
    case VERB_ZEROFILL: return abilities->zerofill;
    case VERB_COPY: return abilities->copy;
    case VERB_SETXATTR:
    case VERB_GETXATTR:
    case VERB_REMOVEXATTR: return abilities->xattrs;
    default: return true;
    }
}

static bool
takes_open_file (enum verb verb)
{
    return verb == VERB_CLOSE || verb == VERB_READ || verb == VERB_WRITE || verb == VERB_FSTAT
        || verb == VERB_FTRUNCATE || verb == VERB_FALLOCATE || verb == VERB_DISCARD
        || verb == VERB_ZEROFILL || verb == VERB_COPY || verb == VERB_FLUSH || verb == VERB_FSYNC;
}

/* One of the client's files that is open, or that is not; -1: there is none. */
static int
some_fd (struct maker *maker, unsigned client, bool open)
{
    const unsigned first = below (maker, CLIENT_FDS);

    for (unsigned i = 0; i < CLIENT_FDS; i++)
        if (maker->open[client][(first + i) % CLIENT_FDS] == open)
            return (first + i) % CLIENT_FDS;
    return -1;
}

/* Half of all lines ask, half change, some open files for these. */
static unsigned
theme_weight (const struct maker *maker, unsigned client, enum verb verb)
{
    const bool asks = maker->asks & 1u << verb && !(maker->apart && client == 0);
    const bool changes = maker->changes & 1u << verb && !(maker->apart && client > 0);

    if (asks || changes)
        return 12 / (unsigned) __builtin_popcount (asks ? maker->asks : maker->changes);
    return verb == VERB_OPEN;
}

static unsigned
weight_of (const struct maker *maker, unsigned client, unsigned wish)
{
    const enum verb verb = wishes[wish].verb;

    if (!is_able (maker->abilities, verb) || maker->left_out & 1u << verb)
        return 0;
    if (maker->theme)
        return theme_weight (maker, client, verb);
    return wishes[wish].weight * (maker->in_order && verb == VERB_READ ? 5 : 1);
}

static enum verb
some_verb (struct maker *maker, unsigned client)
{
    unsigned all = 0, at;

    for (unsigned i = 0; i < G_N_ELEMENTS (wishes); i++)
        all += weight_of (maker, client, i);
    at = below (maker, all);
    for (unsigned i = 0;; i++) {
        const unsigned weight = weight_of (maker, client, i);
        if (at < weight)
            return wishes[i].verb;
        at -= weight;
    }
}

/* A client without an open file opens one instead; a client with too many closes one. */
static void
line_choose_fd (struct maker *maker, struct line *line)
{
    const bool opens = line->verb == VERB_CREATE || line->verb == VERB_OPEN;
    int fd;

    if (!opens && !takes_open_file (line->verb))
        return;
    fd = some_fd (maker, line->client, !opens);
    if (fd < 0) {
        line->verb = opens ? VERB_CLOSE : VERB_CREATE;
        fd = some_fd (maker, line->client, opens);
    }
    line->fd = fd;
    line->fd_out = MAX (some_fd (maker, line->client, true), 0);
    maker->open[line->client][fd] = line->verb != VERB_CLOSE;
}

/* The first read of a newly opened file begins at its start; and writes are large enough to be
 * read. Makes no random choice, so that other histories stay the same. */
static void
line_put_in_order (struct maker *maker, struct line *line)
{
    off_t *next = &maker->next[line->client][line->fd];

    if (!maker->in_order || line->number % 8 == 0)
        return;
    if (line->verb == VERB_CREATE || line->verb == VERB_OPEN)
        *next = 0;
    if (line->verb == VERB_WRITE)
        line->size = MAX (line->size, 12288);
    if (line->verb != VERB_READ)
        return;
    line->offset = *next;
    *next += (off_t) line->size;
}

static struct line *
line_make (struct maker *maker, unsigned number, unsigned clients)
{
    /* The model knows no rights: an owner who isn't root may search each directory, too. */
    static const mode_t modes[] = { 0744, 0700, 0755, 0711 };
    struct line *line = g_new0 (struct line, 1);

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
    line->mode = line->verb == VERB_MKDIR ? 0755 : ONE_OF (maker, modes);
    if ((line->verb == VERB_TRUNCATE || line->verb == VERB_FTRUNCATE) && below (maker, 2))
        line->offset = 0;
    if (line->verb == VERB_UTIME)
        line->offset = 1000 + number;
    if (line->verb == VERB_LS
        && (maker->theme ? !strchr (maker->theme->paths[1], '/') : below (maker, 2))) {
        g_free (line->path);
        line->path = g_strdup (".");
    }
    if (maker->theme && maker->theme->begins == VERB_MAX
        && (line->verb == VERB_MKDIR || line->verb == VERB_RMDIR))
        line->path[strlen ("d")] = '\0'; /* the directory itself, not a name in it */
    line_put_in_order (maker, line);
    return line;
}

/* Most of them, at least one. */
static uint32_t
some_bits (struct maker *maker, uint32_t bits)
{
    uint32_t some = 0;

    while (!(some & bits))
        some = (uint32_t) (random_next (&maker->random) | random_next (&maker->random));
    return some & bits;
}

/* The lines that make the initial objects. */
static void
theme_begin (struct maker *maker, struct history *history)
{
    struct line *line = g_new0 (struct line, 1);

    line->number = 1;
    line->verb = maker->theme->begins;
    line->path = g_strdup (maker->theme->paths[0]);
    line->flags = O_RDWR;
    line->mode = line->verb == VERB_MKDIR ? 0755 : 0644;
    line->calm = true;
    maker->open[0][0] = line->verb == VERB_CREATE;
    g_ptr_array_add (history->lines, line);
}

static void
theme_choose (struct maker *maker)
{
    const uint32_t able = maker->abilities->xattrs
                            ? 0
                            : BIT (GETXATTR) | BIT (SETXATTR) | BIT (REMOVEXATTR);

    do {
        maker->theme = &ONE_OF (maker, themes);
    } while (maker->theme->changes & able);
    maker->asks = some_bits (maker, maker->theme->asks);
    maker->changes = some_bits (maker, maker->theme->changes);
    maker->left_out = 0;
    maker->apart = below (maker, 2);
}

struct history *
history_make (uint64_t seed, unsigned clients, unsigned steps, unsigned faults,
              const struct history_abilities *abilities)
{
    struct maker maker = { .random = { seed }, .abilities = abilities };
    const uint32_t always = 1u << VERB_CREATE | 1u << VERB_OPEN | 1u << VERB_READ
                          | 1u << VERB_WRITE;
    struct history *history = history_begin (seed, clients, faults);

    maker.in_order = seed % 3 == 0;
    maker.left_out = (uint32_t) (random_next (&maker.random) | random_next (&maker.random))
                   & ~always;
    maker.path = any_path (&maker);
    maker.offset = any_offset (&maker);
    maker.size = any_size (&maker);
    if (history_is_narrow (seed)) {
        theme_choose (&maker);
        if (maker.theme->begins != VERB_MAX)
            theme_begin (&maker, history);
    }
    for (unsigned i = history->lines->len; i < steps; i++)
        g_ptr_array_add (history->lines, line_make (&maker, i + 1, clients));
    g_free (maker.path);
    return history;
}
