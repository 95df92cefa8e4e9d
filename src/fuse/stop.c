/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of a mount. First the kernel writes cached data back while the readers still answer, then
 * the mount is unmounted, then pending requests may finish. Each step has a time limit; requests
 * that exceed it are logged.
 */
#include "control/control.h"
#include "core/edge/stack.h"
#include "core/report/request-snapshot.h"
#include "fuse/groups.h"
#include "fuse/move/old-graphs.h"
#include "fuse/notices.h"
#include "fuse/passthrough.h"
#include "fuse/request.h"
#include "fuse/ring/transport.h"
#include "fuse/short-numbers.h"
#include "fuse/state.h"
#include "fuse/threads/threads.h"
#include "fuse/trim.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE (5LL * 1000000000)

extern char **environ;

/* Unmounting, and having the kernel write, may wait for the bridge's own threads. Another thread
 * therefore does it, and can be abandoned. */
struct unmounter {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool done, left; /* lock */
    bool stays;      /* only write everything; constant */
    int r;           /* lock; 0 if the mount is gone, or a negative errno */
    char *mountpoint;
};

#define FUSERMOUNT(mountpoint, lazy) \
    { \
        "fusermount3", (lazy) ? "-uqz" : "-uq", "--", (char *) (mountpoint), NULL \
    }

static int
fusermount (const char *mountpoint, bool lazy)
{
    char *argv[] = FUSERMOUNT (mountpoint, lazy);
    int status, r;
    pid_t pid;

    r = posix_spawnp (&pid, argv[0], NULL, NULL, argv, environ);
    if (r != 0)
        return -r;
    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED (status) && WEXITSTATUS (status) == 0 ? 0 : -EBUSY;
}

static int
unmount (const char *mountpoint, bool lazy)
{
    if (umount2 (mountpoint, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
        return 0;
    return errno == EPERM && geteuid () != 0 ? fusermount (mountpoint, lazy) : -errno;
}

/* Unmounts while files are open. Writes their cached data back, after no program can open another
 * file. */
static int
unmount_busy (const char *mountpoint)
{
    int fd = open (mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = unmount (mountpoint, true);

    if (fd >= 0) {
        (void) syncfs (fd);
        close (fd);
    }
    return r;
}

/* Writes cached data back, and leaves the mount. */
static int
mount_sync (const char *mountpoint)
{
    const int fd = open (mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int r = fd < 0 || syncfs (fd) < 0 ? -errno : 0;

    if (fd >= 0)
        close (fd);
    return r;
}

static void
unmounter_free (struct unmounter *unmounter)
{
    pthread_mutex_destroy (&unmounter->lock);
    pthread_cond_destroy (&unmounter->changed);
    g_free (unmounter->mountpoint);
    g_free (unmounter);
}

static void *
unmounter_run (void *data)
{
    struct unmounter *unmounter = data;
    int r = unmounter->stays ? mount_sync (unmounter->mountpoint)
                             : unmount (unmounter->mountpoint, false);
    bool left;

    if (r == -EBUSY && !unmounter->stays)
        r = unmount_busy (unmounter->mountpoint);
    pthread_mutex_lock (&unmounter->lock);
    unmounter->done = true;
    unmounter->r = r;
    left = unmounter->left;
    pthread_cond_signal (&unmounter->changed);
    pthread_mutex_unlock (&unmounter->lock);
    if (left)
        unmounter_free (unmounter);
    return NULL;
}

static int
unmounter_wait (struct unmounter *unmounter)
{
    const int64_t end = clock_now () + PATIENCE;
    bool done;
    int r = 0;

    pthread_mutex_lock (&unmounter->lock);
    while (!unmounter->done && r == 0)
        r = thread_cond_wait_until (&unmounter->changed, &unmounter->lock, end);
    done = unmounter->done;
    unmounter->left = !done;
    r = done ? unmounter->r : -ETIMEDOUT;
    pthread_mutex_unlock (&unmounter->lock);
    if (done)
        unmounter_free (unmounter);
    return r;
}

/* Has another thread unmount, or only write everything. Returns 0, or a negative errno. */
static int
unmounter_start (struct bridge *bridge, bool stays)
{
    struct unmounter *unmounter = g_new0 (struct unmounter, 1);
    pthread_t thread;
    int r;

    pthread_mutex_init (&unmounter->lock, NULL);
    thread_cond_init (&unmounter->changed);
    unmounter->stays = stays;
    unmounter->mountpoint = g_strdup (bridge->mountpoint);
    r = thread_new (&thread, "fuse-unmount", unmounter_run, unmounter);
    if (r < 0) {
        unmounter_free (unmounter);
        return r;
    }
    pthread_detach (thread);
    return unmounter_wait (unmounter);
}

int
bridge_write_back (struct bridge *bridge)
{
    return unmounter_start (bridge, true);
}

/* Unmounts while the readers still answer. 0, or a negative errno. */
static int
bridge_unmount (struct bridge *bridge)
{
    const int r = unmounter_start (bridge, bridge->leaves_mounted);

    if (r < 0 && bridge->leaves_mounted)
        gf_log (&bridge->xlator, GF_LOG_ERROR, "what the kernel kept of '%s' could not be written: "
                "%s", bridge->mountpoint, g_strerror (-r));
    return r < 0 && !bridge->leaves_mounted ? unmount (bridge->mountpoint, true) : 0;
}

void
bridge_leave_mounted (struct bridge *bridge)
{
    bridge->leaves_mounted = true;
}

/* Unmounts again, so that the daemon leaves no mount behind. The readers have ended, which may make
 * room for the process of fusermount3 (RLIMIT_NPROC). If there is still no room, fusermount3 can
 * replace this process. */
static void
bridge_unmount_again (struct bridge *bridge)
{
    const int r = unmount (bridge->mountpoint, true);
    const char *missing = unmount_mtab_missing ();

    bridge->left = r == -EAGAIN;
    if (r < 0 && !bridge->left)
        gf_log (&bridge->xlator, GF_LOG_WARNING, "can't unmount '%s': %s; '%s %s' does",
                bridge->mountpoint, missing ? missing : g_strerror (-r),
                missing || geteuid () == 0 ? "umount" : "fusermount3 -u", bridge->mountpoint);
}

static void
report_one (const call_stack_t *root, void *data)
{
    struct bridge *bridge = data;
    g_autofree char *text = stack_describe (root);

    gf_log (&bridge->xlator, GF_LOG_WARNING, "a request is left unanswered:");
    log_text (text);
}

/* Waits for requests that translators have set aside. Returns whether no request or stub refers to
 * the graph any more. */
static bool
wait_for_answers (struct bridge *bridge)
{
    const bool ended = stack_wait_for_end (STACKS_GONE, clock_now () + PATIENCE);

    xlators_pin ();
    stack_foreach (report_one, bridge);
    xlators_unpin ();
    return ended;
}

static void
stop_forget_one (inode_t *inode, void *data)
{
    inode_forget (inode, UINT64_MAX);
}

/* Drops the references that the kernel held and will not return. */
static void
stop_forget_all (struct bridge *bridge)
{
    request_fds_release (bridge);
    itable_foreach (bridge->itable, stop_forget_one, NULL);
    if (bridge->hidden.graph)
        itable_foreach (bridge->hidden.graph->itable, stop_forget_one, NULL);
}

void
bridge_stop (struct bridge *bridge)
{
    bool stopped, ended;
    int r;

    if (!bridge->mounted)
        return;
    __atomic_store_n (&bridge->ending, true, __ATOMIC_RELEASE);
    xlator_notify (bridge->graph->top, XLATOR_ENDING, NULL);
    for (const struct old_graph *old = bridge->old_used; old; old = old->next)
        xlator_notify (old->graph->top, XLATOR_ENDING, NULL);
    r = bridge_connection_is_gone (bridge) ? 0 : bridge_unmount (bridge);
    stopped = request_threads_stop (bridge, PATIENCE);
    if (r < 0)
        bridge_unmount_again (bridge);
    ended = wait_for_answers (bridge);
    if (!stopped || !ended)
        bridge->stuck = true;
    else
        stop_forget_all (bridge);
    trim_end (bridge); /* before the graph is freed */
    bridge->mounted = false;
}

bool
bridge_is_left (const struct bridge *bridge)
{
    return bridge->left;
}

void
bridge_become_unmount (const char *mountpoint)
{
    char *argv[] = FUSERMOUNT (mountpoint, true);

    execvp (argv[0], argv);
}

bool
bridge_is_stuck (const struct bridge *bridge)
{
    return bridge->stuck;
}

/* Ends libfuse's session without a second unmount by name, which could hit another mount. libfuse
 * skips it if the device reports an error, as a pipe without a reader does. The device is closed,
 * and with it the rest of the mount. */
static void
stop_end_session (struct fuse_session *session)
{
    int ends[2];

    if (fuse_session_fd (session) >= 0 && pipe2 (ends, O_CLOEXEC) == 0) {
        close (ends[0]);
        dup3 (ends[1], fuse_session_fd (session), O_CLOEXEC);
        close (ends[1]);
        fuse_session_unmount (session);
    }
    fuse_session_destroy (session);
}

/* Closes the device too. A stuck bridge keeps everything until the process ends. */
void
bridge_free (struct bridge *bridge)
{
    if (!bridge || bridge->stuck)
        return;
    bridge_stop (bridge);
    limits_end (bridge);
    trim_end (bridge);
    bridge->graph->top->parents = NULL;
    ring_end (bridge);
    if (bridge->session)
        stop_end_session (bridge->session);
    groups_cache_free (bridge->groups);
    short_numbers_free (bridge->short_numbers);
    passthrough_free (bridge->passthrough);
    g_hash_table_destroy (bridge->fds);
    notices_free (bridge);
    pthread_mutex_destroy (&bridge->fds_lock);
    pthread_mutex_destroy (&bridge->hold_turn);
    option_clear (bridge_options, &bridge->settings);
    g_ptr_array_unref (bridge->xlator.settings);
    g_string_free (bridge->libfuse_says, TRUE);
    pthread_cond_destroy (&bridge->changed);
    pthread_cond_destroy (&bridge->quiet);
    pthread_cond_destroy (&bridge->device.needed);
    pthread_mutex_destroy (&bridge->lock);
    g_free (bridge->mountpoint);
    g_free (bridge);
}
