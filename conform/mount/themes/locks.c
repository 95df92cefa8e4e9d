/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Record locks, open file description locks and flock: conflicts, and when locks end. */
#include "conform/mount/themes/themes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

/* --- one process holds, another one wants --------------------------------------------------- */

enum way { RECORD, DESCRIPTION, FLOCK };
static const char *const way_names[] = { "record", "description", "flock" };

static const struct held {
    const char *name;
    enum way way;
    short type;
    off_t start, length;
} helds[] = {
    { "a record lock to write", RECORD, F_WRLCK, 10, 10 },
    { "a record lock to read", RECORD, F_RDLCK, 10, 10 },
    { "a record lock of all", RECORD, F_WRLCK, 0, 0 },
    { "a record lock to the end", RECORD, F_WRLCK, 15, 0 },
    { "a description lock to write", DESCRIPTION, F_WRLCK, 10, 10 },
    { "a description lock to read", DESCRIPTION, F_RDLCK, 10, 10 },
    { "flock exclusive", FLOCK, F_WRLCK, 0, 0 },
    { "flock shared", FLOCK, F_RDLCK, 0, 0 },
};

static const struct {
    const char *name;
    off_t start, length;
} ranges[] = { { "the same", 10, 10 },     { "before", 0, 10 },       { "behind", 20, 5 },
               { "over the start", 5, 6 }, { "over the end", 19, 5 }, { "within", 12, 2 },
               { "around", 0, 100 },       { "all", 0, 0 },           { "backwards", 20, -5 } };

static int
take (int fd, enum way way, short type, off_t start, off_t length)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

    if (way == FLOCK)
        return flock (fd, (type == F_WRLCK   ? LOCK_EX
                           : type == F_RDLCK ? LOCK_SH
                                             : LOCK_UN)
                              | LOCK_NB);
    return fcntl (fd, way == RECORD ? F_SETLK : F_OFD_SETLK, &lock);
}

static void
ask (int fd, enum way way, short type, off_t start, off_t length)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

    if (way == FLOCK)
        return;
    TELL ("ask", fcntl (fd, way == RECORD ? F_GETLK : F_OFD_GETLK, &lock));
    observe ("type %d, start %jd, length %jd, by the parent %d, by nobody %d", lock.l_type,
             (intmax_t) lock.l_start, (intmax_t) lock.l_len, lock.l_pid == getppid (),
             lock.l_pid == -1);
}

static void
want (void *data)
{
    const struct mount_case *c = data;
    const enum way way = c->b;
    const int fd = open ("file", O_RDWR);

    ask (fd, way, F_RDLCK, ranges[c->c].start, ranges[c->c].length);
    ask (fd, way, F_WRLCK, ranges[c->c].start, ranges[c->c].length);
    TELL ("to read", take (fd, way, F_RDLCK, ranges[c->c].start, ranges[c->c].length));
    TELL ("to write", take (fd, way, F_WRLCK, ranges[c->c].start, ranges[c->c].length));
    TELL ("none", take (fd, way, F_UNLCK, ranges[c->c].start, ranges[c->c].length));
}

/* The kernel releases a description's locks shortly after close has returned. */
static void
wait_free (enum way way)
{
    const int fd = open ("file", O_RDWR);

    for (int i = 0; way != RECORD && i < 200 && take (fd, way, F_WRLCK, 0, 0) < 0; i++)
        usleep (10000);
    take (fd, way, F_UNLCK, 0, 0);
    close (fd);
}

static void
run_conflict (const struct mount_case *c)
{
    const struct held *held = &helds[c->a];
    const int fd = make_file ("file", "0123456789012345678901234567890");

    TELL ("hold", take (fd, held->way, held->type, held->start, held->length));
    child_end (child_start (want, (void *) c));
    close (fd);
    wait_free (held->way);
    observe ("after it was closed");
    child_end (child_start (want, (void *) c));
}

/* --- one process ---------------------------------------------------------------------------- */

static void
want_all (void *data)
{
    const int fd = open ("file", O_RDWR);

    TELL ("another gets it", take (fd, GPOINTER_TO_INT (data), F_WRLCK, 0, 0));
    take (fd, GPOINTER_TO_INT (data), F_UNLCK, 0, 0);
}

static void
another (enum way way)
{
    child_end (child_start (want_all, GINT_TO_POINTER (way)));
}

/* Closing any descriptor of the file ends a process's record locks; other locks are the
 * description's. */
static void
run_close (const struct mount_case *c)
{
    const enum way way = c->a;
    const int fd = make_file ("file", "0123456789"), same = dup (fd), other = open ("file", O_RDWR);

    TELL ("hold", take (fd, way, F_WRLCK, 0, 0));
    another (way);
    close (same);
    observe ("a duplicate was closed");
    another (way);
    TELL ("hold", take (fd, way, F_WRLCK, 0, 0));
    close (other);
    observe ("another descriptor was closed");
    another (way);
    close (fd);
    wait_free (way);
    observe ("the last was closed");
    another (way);
}

static void
keep_by_fork (void *data)
{
    const int fd = GPOINTER_TO_INT (data);

    TELL ("the child takes it away", take (fd, DESCRIPTION, F_UNLCK, 0, 0));
    TELL ("and its record lock", take (fd, RECORD, F_UNLCK, 0, 0));
}

static void
run_fork (const struct mount_case *c)
{
    const enum way way = c->a;
    const int fd = make_file ("file", "0123456789");

    TELL ("hold", take (fd, way, F_WRLCK, 0, 0));
    child_end (child_start (keep_by_fork, GINT_TO_POINTER (fd)));
    another (way);
}

/* --- ownership: a process's lock lasts until it closes the file ------------------------------ */

static void *
take_all (void *data)
{
    TELL ("a thread holds", take (GPOINTER_TO_INT (data), RECORD, F_WRLCK, 0, 0));
    return NULL;
}

static void
run_thread (const struct mount_case *c)
{
    static const struct mount_case all = { .b = RECORD, .c = 7 };
    const int fd = make_file ("file", "0123456789");
    pthread_t thread;

    NEED (-pthread_create (&thread, NULL, take_all, GINT_TO_POINTER (fd)));
    NEED (-pthread_join (thread, NULL));
    child_end (child_start (want, (void *) &all));
    TELL ("the first thread gives it up", take (fd, RECORD, F_UNLCK, 0, 0));
    child_end (child_start (want, (void *) &all));
}

static void
wait_for_end (void *data)
{
    const int *ends = data;
    char byte;

    close (ends[1]);
    NEED (read (ends[0], &byte, 1));
}

/* A child keeps the descriptor. */
static void
run_parent_closes (const struct mount_case *c)
{
    const int fd = make_file ("file", "0123456789");
    int ends[2];
    pid_t child;

    NEED (pipe (ends));
    TELL ("hold", take (fd, RECORD, F_WRLCK, 0, 0));
    child = child_start (wait_for_end, ends);
    another (RECORD);
    close (fd);
    observe ("the parent closed it");
    another (RECORD);
    close (ends[1]);
    child_end (child);
}

/* Parts of a lock are released, changed, and joined. */
static void
run_split (const struct mount_case *c)
{
    static const struct {
        short type;
        off_t start, length;
    } steps[] = { { F_WRLCK, 0, 100 }, { F_UNLCK, 20, 10 }, { F_RDLCK, 50, 10 },
                  { F_WRLCK, 20, 10 }, { F_RDLCK, 0, 0 },   { F_UNLCK, 10, 0 },
                  { F_UNLCK, 0, 0 } };
    const int fd = make_file ("file", "x");

    for (size_t i = 0; i < G_N_ELEMENTS (steps); i++) {
        struct mount_case probe = { .b = RECORD };

        TELL ("step", take (fd, RECORD, steps[i].type, steps[i].start, steps[i].length));
        for (probe.c = 0; probe.c < G_N_ELEMENTS (ranges); probe.c++)
            child_end (child_start (want, &probe));
    }
}

static void
run_wrong (const struct mount_case *c)
{
    const int to_read = (close (make_file ("file", "x")), open ("file", O_RDONLY)),
              to_write = open ("file", O_WRONLY);
    struct flock lock = { .l_type = 77, .l_whence = SEEK_SET };

    TELL ("to write, with a descriptor to read", take (to_read, RECORD, F_WRLCK, 0, 0));
    TELL ("to read, with a descriptor to write", take (to_write, RECORD, F_RDLCK, 0, 0));
    TELL ("description, the same", take (to_read, DESCRIPTION, F_WRLCK, 0, 0));
    TELL ("flock, the same", take (to_read, FLOCK, F_WRLCK, 0, 0));
    TELL ("a wrong type", fcntl (to_write, F_SETLK, &lock));
    lock = (struct flock){ .l_type = F_WRLCK, .l_whence = 55 };
    TELL ("a wrong whence", fcntl (to_write, F_SETLK, &lock));
    TELL ("before the start", take (to_write, RECORD, F_WRLCK, -1, 1));
    TELL ("back over the start", take (to_write, RECORD, F_WRLCK, 5, -10));
    TELL ("at the largest offset", take (to_write, RECORD, F_WRLCK, INT64_MAX, 1));
    TELL ("over the largest offset", take (to_write, RECORD, F_WRLCK, INT64_MAX, 2));
    TELL ("a path", take (open ("file", O_PATH), RECORD, F_RDLCK, 0, 0));
    TELL ("a directory", take (open (".", O_RDONLY), RECORD, F_RDLCK, 0, 0));
    TELL ("a directory, flock", take (open (".", O_RDONLY), FLOCK, F_WRLCK, 0, 0));
    lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_pid = 1 };
    TELL ("a description lock with a process", fcntl (to_write, F_OFD_SETLK, &lock));
    TELL ("flock of nothing", flock (to_read, 0));
}

static void
run_flock_changes (const struct mount_case *c)
{
    const int fd = make_file ("file", "x"), other = open ("file", O_RDWR);

    TELL ("exclusive", flock (fd, LOCK_EX));
    TELL ("the other descriptor", flock (other, LOCK_EX | LOCK_NB));
    TELL ("shared", flock (fd, LOCK_SH));
    TELL ("shared by the other", flock (other, LOCK_SH | LOCK_NB));
    TELL ("exclusive again", flock (fd, LOCK_EX | LOCK_NB));
    TELL ("none", flock (fd, LOCK_UN));
    TELL ("now for it alone", flock (other, LOCK_EX | LOCK_NB));
    TELL ("record locks don't mind", take (fd, RECORD, F_WRLCK, 0, 0));
    TELL ("none twice", flock (fd, LOCK_UN));
}

/* --- waiting -------------------------------------------------------------------------------- */

static void
nothing (int signal)
{
}

/* Sends the signal repeatedly, as the first may come before the wait begins. 0: stops. */
static void
interrupt_after (unsigned milliseconds)
{
    const struct timeval after = { 0, milliseconds * 1000 };

    sigaction (SIGALRM, &(struct sigaction){ .sa_handler = nothing }, NULL);
    setitimer (ITIMER_REAL, &(struct itimerval){ .it_value = after, .it_interval = after }, NULL);
}

static int
wait_for (int fd, enum way way, off_t start)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1 };

    return way == FLOCK ? flock (fd, LOCK_EX)
                        : fcntl (fd, way == RECORD ? F_SETLKW : F_OFD_SETLKW, &lock);
}

static void
wait_interrupted (void *data)
{
    const enum way way = GPOINTER_TO_INT (data);

    const int fd = open ("file", O_RDWR);

    interrupt_after (30);
    TELL ("wait, interrupted", wait_for (fd, way, 0));
    interrupt_after (0);
}

static void
run_interrupted (const struct mount_case *c)
{
    const int fd = make_file ("file", "x");

    TELL ("hold", take (fd, c->a, F_WRLCK, 0, 0));
    child_end (child_start (wait_interrupted, GINT_TO_POINTER (c->a)));
    close (fd);
    wait_free (c->a);
    another (c->a);
}

struct handover {
    enum way way;
    int ready[2];
};

static void
wait_granted (void *data)
{
    struct handover *handover = data;
    const int fd = open ("file", O_RDWR);

    NEED (write (handover->ready[1], "r", 1));
    TELL ("wait", wait_for (fd, handover->way, 0));
}

/* A waiting process gets the lock when it is released. */
static void
run_granted (const struct mount_case *c)
{
    struct handover handover = { .way = c->a };
    const int fd = make_file ("file", "x");
    char byte;
    pid_t pid;

    NEED (pipe (handover.ready));
    TELL ("hold", take (fd, c->a, F_WRLCK, 0, 0));
    pid = child_start (wait_granted, &handover);
    NEED (read (handover.ready[0], &byte, 1));
    NEED (take (fd, c->a, F_UNLCK, 0, 0));
    child_end (pid);
}

/* Each process has one lock and waits for the other's. */
static void
deadlock_child (void *data)
{
    struct handover *handover = data;
    const int fd = open ("file", O_RDWR);
    char byte;

    TELL ("the child holds", take (fd, RECORD, F_WRLCK, 1, 1));
    NEED (write (handover->ready[1], "r", 1));
    interrupt_after (900);
    byte = wait_for (fd, RECORD, 0) == 0;
    interrupt_after (0);
    observe ("the child gets it: %d", byte);
}

static void
run_deadlock (const struct mount_case *c)
{
    struct handover handover = { .way = RECORD };
    const int fd = make_file ("file", "xy");
    char byte;
    pid_t pid;
    int r;

    NEED (pipe (handover.ready));
    TELL ("hold", take (fd, RECORD, F_WRLCK, 0, 1));
    pid = child_start (deadlock_child, &handover);
    NEED (read (handover.ready[0], &byte, 1));
    nanosleep (&(struct timespec){ 0, 100000000 }, NULL); /* the second one gets the error; the
                                                             child is first by then */
    interrupt_after (150);
    r = wait_for (fd, RECORD, 1);
    interrupt_after (0);
    observe ("waiting in a circle: %s", r == 0 ? "ok" : errno_name (errno));
    close (fd);
    child_end (pid);
}

void
locks_cases (GPtrArray *list)
{
    for (unsigned held = 0; held < G_N_ELEMENTS (helds); held++)
        for (unsigned way = RECORD; way <= FLOCK; way++)
            for (unsigned range = 0; range < (way == FLOCK ? 1 : G_N_ELEMENTS (ranges)); range++)
                case_add (list, run_conflict, held, way, range, 0, "locks/%s, wanted: %s %s",
                          helds[held].name, way_names[way], ranges[range].name);
    for (unsigned way = RECORD; way <= FLOCK; way++) {
        case_add (list, run_close, way, 0, 0, 0, "locks/%s ends at close", way_names[way]);
        case_add (list, run_fork, way, 0, 0, 0, "locks/%s and fork", way_names[way]);
        case_add (list, run_interrupted, way, 0, 0, 0, "locks/%s, waiting is interrupted",
                  way_names[way]);
        case_add (list, run_granted, way, 0, 0, 0, "locks/%s, the waiting process gets it",
                  way_names[way]);
    }
    case_add (list, run_thread, 0, 0, 0, 0, "locks/record of a thread");
    case_add (list, run_parent_closes, 0, 0, 0, 0,
              "locks/record, the parent closes and the child doesn't");
    case_add (list, run_split, 0, 0, 0, 0, "locks/parts");
    case_add (list, run_wrong, 0, 0, 0, 0, "locks/wrong arguments");
    case_add (list, run_flock_changes, 0, 0, 0, 0, "locks/flock changes");
    case_add (list, run_deadlock, 0, 0, 0, 0, "locks/waiting in a circle");
}
