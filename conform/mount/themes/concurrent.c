/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several processes at once: guarantees hold at every moment. Each case runs a number of rounds,
 * not a length of time. */
#include "conform/mount/themes/themes.h"

#include <sys/mman.h>

#define TURNS 150

/* Shared by the processes of a case. */
struct shared {
    unsigned stop;         /* atomic */
    unsigned wrong, right; /* atomic */
};

static struct shared *
shared_new (void)
{
    struct shared *shared = mmap (NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    NEED (shared == MAP_FAILED ? -1 : 0);
    return shared;
}

static void
mark (struct shared *shared, bool right)
{
    __atomic_add_fetch (right ? &shared->right : &shared->wrong, 1, __ATOMIC_RELAXED);
}

static bool
stopped (const struct shared *shared)
{
    return __atomic_load_n (&shared->stop, __ATOMIC_RELAXED);
}

static void
stop (struct shared *shared)
{
    __atomic_store_n (&shared->stop, 1, __ATOMIC_RELAXED);
}

/* --- a name is always there ----------------------------------------------------------------- */

static void
look_for_name (void *data)
{
    struct shared *shared = data;

    do {
        struct stat st;
        const int fd = open ("name", O_RDONLY);

        mark (shared, fd >= 0);
        mark (shared, stat ("name", &st) == 0);
        if (fd >= 0)
            close (fd);
    } while (!stopped (shared));
}

static void
run_rename_over (const struct mount_case *c)
{
    struct shared *shared = shared_new ();
    pid_t pid;

    close (make_file ("name", "first"));
    pid = child_start (look_for_name, shared);
    for (unsigned i = 0; i < TURNS; i++) {
        close (make_file ("new", "next"));
        NEED (rename ("new", "name"));
    }
    stop (shared);
    child_end (pid);
    must (shared->wrong == 0 && shared->right > 0,
          "POSIX rename: a file named new stays visible to all throughout");
}

static void
run_exchange (const struct mount_case *c)
{
    struct shared *shared = shared_new ();
    pid_t pid;

    close (make_file ("name", "one"));
    close (make_file ("other", "two"));
    pid = child_start (look_for_name, shared);
    for (unsigned i = 0; i < TURNS; i++)
        NEED (renameat2 (AT_FDCWD, "name", AT_FDCWD, "other", 2));
    stop (shared);
    child_end (pid);
    must (shared->wrong == 0 && shared->right > 0,
          "rename(2): EXCHANGE is atomic, both names are always there");
}

/* Never a partial or an empty one. */
static void
read_whole (void *data)
{
    struct shared *shared = data;

    do {
        char text[16];
        const int fd = open ("name", O_RDONLY);
        const ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text);

        mark (shared, n == 10);
        if (fd >= 0)
            close (fd);
    } while (!stopped (shared));
}

static void
run_whole (const struct mount_case *c)
{
    struct shared *shared = shared_new ();
    pid_t pid;

    close (make_file ("name", "0123456789"));
    pid = child_start (read_whole, shared);
    for (unsigned i = 0; i < TURNS; i++) {
        close (make_file ("new", "9876543210"));
        NEED (rename ("new", "name"));
    }
    stop (shared);
    child_end (pid);
    must (shared->wrong == 0,
          "a file that is replaced by rename is read whole, the old or the new");
}

/* --- one of many ---------------------------------------------------------------------------- */

#define PROCESSES 4

struct race {
    struct shared *shared;
    unsigned what;
};

static int
attempt (unsigned what, unsigned turn)
{
    char name[32], mine[32];

    snprintf (name, sizeof name, "turn%u", turn);
    snprintf (mine, sizeof mine, "from%u", turn);
    switch (what) {
    case 0: {
        const int fd = open (name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        return fd < 0 ? -1 : close (fd);
    }
    case 1: return mkdir (name, 0700);
    case 2: return symlink ("x", name);
    case 3: return link ("file", name);
    case 4: return rename (mine, name);
    default: return unlink (mine);
    }
}

static void
try_all (void *data)
{
    const struct race *race = data;

    for (unsigned turn = 0; turn < 40; turn++)
        if (attempt (race->what, turn) == 0)
            mark (race->shared, true);
        else
            mark (race->shared, errno == EEXIST || errno == ENOENT);
}

static const char *const race_names[] = {
    "O_EXCL", "mkdir", "symlink", "link", "rename", "unlink"
};

/* Of several processes that do the same at once, one succeeds: for each name. */
static void
run_race (const struct mount_case *c)
{
    struct race race = { shared_new (), c->a };
    struct shared *const all = race.shared;
    pid_t pids[PROCESSES];
    unsigned wins = 0;

    make_tree ("F:file");
    for (unsigned turn = 0; turn < 40; turn++) {
        g_autofree char *name = g_strdup_printf ("from%u", turn);

        close (make_file (name, ""));
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = child_start (try_all, &race);
    for (unsigned i = 0; i < PROCESSES; i++)
        child_end (pids[i]);
    must (all->wrong == 0, "the loser gets EEXIST or ENOENT");
    for (unsigned turn = 0; turn < 40; turn++)
        wins += attempt (race.what, turn) < 0;
    must (wins == 40, "after a race nothing is left to win");
    show_tree (".");
}

/* --- appending ------------------------------------------------------------------------------ */

static void
append_lines (void *data)
{
    const int fd = open ("log", O_WRONLY | O_APPEND);

    for (unsigned i = 0; i < TURNS; i++)
        NEED (write (fd, data, 16) == 16 ? 0 : -1);
}

static void
run_append (const struct mount_case *c)
{
    static const char *const lines[PROCESSES] = { "first process..", "second process.",
                                                  "third process..", "fourth process." };
    char text[17] = "";
    unsigned counts[PROCESSES] = { 0 };
    pid_t pids[PROCESSES];
    const int fd = make_file ("log", "");

    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = child_start (append_lines, (void *) lines[i]);
    for (unsigned i = 0; i < PROCESSES; i++)
        child_end (pids[i]);
    while (read (fd, text, 16) == 16)
        for (unsigned i = 0; i < PROCESSES; i++)
            counts[i] += strcmp (text, lines[i]) == 0;
    for (unsigned i = 0; i < PROCESSES; i++)
        must (counts[i] == TURNS, "POSIX write: O_APPEND loses nothing");
    show ("log", "log");
}

/* --- making and removing -------------------------------------------------------------------- */

static void
make_and_remove (void *data)
{
    for (unsigned i = 0; i < TURNS; i++) {
        const int fd = open ("d/file", O_CREAT | O_RDWR, 0600);
        struct stat st;

        if (fd >= 0) {
            mark (data, write (fd, "x", 1) == 1 && fstat (fd, &st) == 0 && st.st_size > 0);
            close (fd);
        } else {
            mark (data, errno == ENOENT);
        }
        mark (data, unlink ("d/file") == 0 || errno == ENOENT);
        mark (data, mkdir ("d/sub", 0700) == 0 || errno == EEXIST);
        mark (data, rmdir ("d/sub") == 0 || errno == ENOENT);
    }
}

static void
run_make_and_remove (const struct mount_case *c)
{
    struct shared *shared = shared_new ();
    pid_t pids[PROCESSES];

    make_tree ("d:d");
    NEED (mkdir ("d/sub", 0700));
    NEED (rmdir ("d/sub"));
    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = child_start (make_and_remove, shared);
    for (unsigned i = 0; i < PROCESSES; i++)
        child_end (pids[i]);
    must (shared->wrong == 0,
          "making and removing at once gives no other error than that it is there, or isn't");
    show_tree (".");
}

void
concurrent_cases (GPtrArray *list)
{
    case_add (list, run_rename_over, 0, 0, 0, 0,
              "concurrent/renames over a name that others look up");
    case_add (list, run_exchange, 0, 0, 0, 0, "concurrent/exchanges of a name that others look up");
    case_add (list, run_whole, 0, 0, 0, 0, "concurrent/a file that is replaced is whole");
    for (unsigned i = 0; i < G_N_ELEMENTS (race_names); i++)
        case_add (list, run_race, i, 0, 0, 0, "concurrent/one wins: %s", race_names[i]);
    case_add (list, run_append, 0, 0, 0, 0, "concurrent/appending");
    case_add (list, run_make_and_remove, 0, 0, 0, 0, "concurrent/making and removing");
}
