/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* longer */
/* builds: debug tsan */
/*
 * system/posix-acl decides as the kernel does. Thousands of cases (rights.h) are executed twice:
 * with system calls on a bare directory, by a thread that acts as the caller, and with requests of
 * the caller through the translator. Result, errno, and the final state of the directories are
 * compared.
 *
 * The cases run above a storage that acts as root and refuses nothing, so that only the translator
 * decides, and above a storage that acts as the caller. WINDLASS_SEED and WINDLASS_CASES select
 * other cases.
 */
#include "posix_world.h"

#include "core/time/seeded-chance.h"

#include "../mount/programs/rights.h"

#include <linux/capability.h>
#include <semaphore.h>

#define OVER_POSIX "end-volume\nvolume acl\ntype system/posix-acl\nsubvolumes posix\n"

/* --- the other thread ------------------------------------------------------------------------- */

/* Accesses the bare directory, since storage leaves this thread with the ids of the last caller. */
static struct {
    pthread_t thread;
    sem_t asked, done;
    void (*fn) (void *data);
    void *data;
} bare;

static void *
bare_run (void *data)
{
    g_assert (unshare (CLONE_FS) == 0);
    for (;;) {
        sem_wait (&bare.asked);
        if (!bare.fn)
            return NULL;
        bare.fn (bare.data);
        sem_post (&bare.done);
    }
}

static void
on_bare (void (*fn) (void *data), void *data)
{
    bare.fn = fn;
    bare.data = data;
    sem_post (&bare.asked);
    if (fn)
        sem_wait (&bare.done);
}

/* --- one case --------------------------------------------------------------------------------- */

struct both {
    struct world *w;
    bool acts; /* storage acts as the caller */
    bool above; /* the kernel may decide above the file system */
    uint64_t seed;
    struct rcase c;
    char *bare, *back; /* the two directories of the scene */
    int wanted, got;
    GString *wanted_state, *got_state;
};

/* In a directory with the sticky bit, fs.protected_regular and protected_fifos (proc(5)) let open
 * with O_CREAT fail, depending on the machine's setting. The kernel checks that for any file
 * system, before it asks. */
static bool
is_protected (const struct both *b)
{
    g_autofree char *dir = g_build_filename (b->bare, b->c.dir, NULL),
                    *file = g_build_filename (dir, b->c.name, NULL);
    struct stat folder, st;

    return b->c.verb == V_CREATE_THERE && stat (dir, &folder) == 0 && stat (file, &st) == 0
        && folder.st_mode & S_ISVTX && folder.st_mode & 022 && st.st_uid != folder.st_uid
        && st.st_uid != b->c.uid;
}

static void
make_scenes (void *data)
{
    struct both *b = data;

    scene_make (b->bare, b->seed);
    scene_make (b->back, b->seed);
    b->above = is_protected (b);
    b->wanted = case_do (&b->c, b->bare);
}

/* A storage that acts as root keeps setuid and setgid, and owns new files. */
static void
see_scenes (void *data)
{
    struct both *b = data;
    const enum rights_verb verb = b->c.verb;
    /* removing an ACL removes setgid only in tmpfs */
    const bool sets_acl = verb == V_SETACL && b->c.value.size > 4;
    const bool all = b->acts || verb == V_CHMOD || verb == V_FCHMOD || sets_acl;

    scene_print (b->bare, all ? 07777 : 01777, b->acts, b->wanted_state);
    scene_print (b->back, all ? 07777 : 01777, b->acts, b->got_state);
    scene_remove (b->bare);
    scene_remove (b->back);
}

static void
remove_dir (void *path)
{
    g_assert (g_rmdir (path) == 0);
}

/* Returns the inode of a name, with a reference, looked up as the caller; or NULL, with w->r
 * set. */
static inode_t *
walk (struct world *w, inode_t *from, const char *name)
{
    return *name ? posix_world_look (w, from, name) : inode_ref (from);
}

struct way {
    inode_t *scene, *dir, *inode;
};

static void
way_clear (struct way *way)
{
    inode_unref (way->scene);
    inode_unref (way->dir);
    inode_unref (way->inode);
}

/* Looks up each component, as the kernel does. 0: the file exists; -ENOENT with dir set: only the
 * last name is missing; way->scene is NULL otherwise. */
static int
go (struct world *w, const char *scene, const char *dir, const char *name, struct way *way)
{
    way->scene = walk (w, w->root, strrchr (scene, '/') + 1);
    way->dir = way->scene ? walk (w, way->scene, dir) : NULL;
    way->inode = way->dir ? walk (w, way->dir, name) : NULL;
    return way->inode ? 0 : w->r;
}

static int
create (struct world *w, const struct rcase *c, inode_t *dir, uint32_t flags)
{
    fd_t *fd = world_create (w, dir, c->name, flags, c->mode & 07777);

    fd_unref (fd);
    return w->r;
}

static int
acl_case_set_times (struct world *w, const struct rcase *c, loc_t *loc, fd_t *fd)
{
    struct iatt to = { .ia_atime = c->times[0].tv_sec,
                       .ia_atime_nsec = (uint32_t) c->times[0].tv_nsec,
                       .ia_mtime = c->times[1].tv_sec,
                       .ia_mtime_nsec = (uint32_t) c->times[1].tv_nsec };
    uint32_t valid = 0;

    if (c->times[0].tv_nsec != UTIME_OMIT)
        valid |= IATT_ATIME | (c->times[0].tv_nsec == UTIME_NOW ? IATT_ATIME_NOW : 0);
    if (c->times[1].tv_nsec != UTIME_OMIT)
        valid |= IATT_MTIME | (c->times[1].tv_nsec == UTIME_NOW ? IATT_MTIME_NOW : 0);
    return fd ? sync_fsetattr (w->client, fd, &to, valid, NULL, NULL)
              : sync_setattr (w->client, loc, &to, valid, NULL, NULL);
}

static int
set_xattr (struct world *w, const struct rcase *c, loc_t *loc, fd_t *fd)
{
    g_autoptr (dict_t) dict = dict_new ();

    dict_set (dict, c->xattr, c->value.bytes, c->value.size);
    return fd ? sync_fsetxattr (w->client, fd, dict, 0, NULL, NULL)
              : sync_setxattr (w->client, loc, dict, 0, NULL, NULL);
}

static int
acl_case_open_file (struct world *w, inode_t *inode, uint32_t flags)
{
    fd_t *fd = world_open (w, inode, flags);

    fd_unref (fd);
    return w->r;
}

/* For operations that create a name: loc has the directory and a new inode. */
static int
acl_case_make (struct world *w, const struct rcase *c, struct way *way)
{
    g_autoptr (inode_t) fresh = inode_new (w->graph->itable);
    loc_t loc = { .name = c->name, .parent = way->dir, .inode = fresh };
    const mode_t mask = c->umask;

    switch (c->verb) {
    case V_CREATE:
        return create (w, c, way->dir, c->flags | O_EXCL);
    case V_MKDIR:
        return sync_mkdir (w->client, &loc, c->mode & 07777, mask, NULL, NULL);
    case V_MKNOD:
        return sync_mknod (w->client, &loc, c->mode, c->rdev, mask, NULL, NULL);
    default:
        return sync_symlink (w->client, "nowhere", &loc, mask, NULL, NULL);
    }
}

static int
tmpfile_in (struct world *w, const struct rcase *c, inode_t *dir)
{
    loc_t loc = { .inode = dir };
    fd_t *fd = fd_new (&w->graph->fd_maker, NULL, O_RDWR, getpid ());
    const int r = sync_tmpfile (w->client, &loc, O_RDWR, c->mode & 07777, c->umask, fd, NULL, NULL);

    fd_unref (fd);
    return r;
}

static int
link_it (struct world *w, const struct rcase *c, struct way *from, struct way *to)
{
    loc_t oldloc = { .name = c->name, .parent = from->dir, .inode = from->inode };
    loc_t newloc = { .name = c->name2, .parent = to->dir, .inode = from->inode };

    return sync_link (w->client, &oldloc, &newloc, NULL, NULL);
}

/* With the inode of the target or, sometimes, without: the caller need not know it. */
static int
rename_it (struct world *w, const struct rcase *c, struct way *from, struct way *to)
{
    loc_t oldloc = { .name = c->name, .parent = from->dir, .inode = from->inode };
    loc_t newloc = { .name = c->name2,
                     .parent = to->dir,
                     .inode = c->random & 1 ? to->inode : NULL };

    if (to->inode && c->flags & RENAME_NOREPLACE)
        return -EEXIST;
    if (!to->inode && c->flags & RENAME_EXCHANGE)
        return -ENOENT;
    return sync_rename (w->client, &oldloc, &newloc, c->flags, NULL, NULL);
}

static int
to_second (struct both *b, struct way *from)
{
    struct way to = { 0 };
    int r = go (b->w, b->back, b->c.dir2, b->c.name2, &to);

    if (r == 0 || (r == -ENOENT && to.dir))
        r = b->c.verb == V_LINK ? link_it (b->w, &b->c, from, &to)
                                : rename_it (b->w, &b->c, from, &to);
    way_clear (&to);
    return r;
}

static int
on_inode (struct world *w, const struct rcase *c, struct way *way)
{
    loc_t loc = { .inode = way->inode }, entry = { .name = c->name,
                                                   .parent = way->dir,
                                                   .inode = c->random & 1 ? way->inode : NULL };
    struct iatt to = { .ia_prot = c->mode & 07777, .ia_uid = c->to_uid, .ia_gid = c->to_gid };

    switch (c->verb) {
    case V_LOOK:
        return 0;
    case V_OPEN:
    case V_OPENDIR:
        return acl_case_open_file (w, way->inode,
                                   c->verb == V_OPENDIR ? O_RDONLY | O_DIRECTORY : c->flags);
    case V_ACCESS:
        return sync_access (w->client, &loc, (int) c->mode & 7, NULL, NULL);
    case V_CREATE_THERE:
        return create (w, c, way->dir, c->flags);
    case V_TMPFILE:
        return tmpfile_in (w, c, way->inode);
    case V_UNLINK:
        return sync_unlink (w->client, &entry, 0, NULL, NULL);
    case V_RMDIR:
        return sync_rmdir (w->client, &entry, 0, NULL, NULL);
    case V_TRUNCATE:
        return sync_truncate (w->client, &loc, 0, NULL, NULL);
    case V_CHMOD:
        return sync_setattr (w->client, &loc, &to, IATT_MODE, NULL, NULL);
    case V_CHOWN:
        return sync_setattr (w->client, &loc, &to, IATT_UID | IATT_GID, NULL, NULL);
    case V_UTIMES:
        return acl_case_set_times (w, c, &loc, NULL);
    case V_SETXATTR:
    case V_SETACL:
        return set_xattr (w, c, &loc, NULL);
    case V_GETXATTR:
        return sync_getxattr (w->client, &loc, c->xattr, NULL, NULL);
    case V_REMOVEXATTR:
        return sync_removexattr (w->client, &loc, c->xattr, NULL, NULL);
    default:
        return sync_readlink (w->client, &loc, 256, NULL, NULL);
    }
}

static void
acl_case_be (struct world *w, const struct rcase *c)
{
    w->client->uid = c ? c->uid : 0;
    w->client->gid = c ? c->gid : 0;
    w->client->ngroups = c ? c->ngroups : 0;
    w->client->groups = c ? c->groups : NULL;
    w->client->umask = c ? c->umask : 0;
}

static int
on_fd (struct world *w, const struct rcase *c, fd_t *fd)
{
    struct iatt to = { .ia_prot = c->mode & 07777 };
    const int flags = FS_NODUMP_FL;
    g_autoptr (GBytes) in = g_bytes_new (&flags, sizeof flags);

    switch (c->verb) {
    case V_FCHMOD:
        return sync_fsetattr (w->client, fd, &to, IATT_MODE, NULL, NULL);
    case V_FUTIMES:
        return acl_case_set_times (w, c, NULL, fd);
    case V_FSETXATTR:
        return set_xattr (w, c, NULL, fd);
    case V_FGETXATTR:
        return sync_fgetxattr (w->client, fd, c->xattr, NULL, NULL);
    default:
        return sync_ioctl (w->client, fd, (uint32_t) FS_IOC_SETFLAGS, in, 0, NULL, NULL);
    }
}

static int
by_fd (struct both *b)
{
    struct way way = { 0 };
    fd_t *fd;
    int r;

    acl_case_be (b->w, NULL);
    r = go (b->w, b->back, b->c.dir, b->c.name, &way);
    ck_assert_int_eq (r, 0);
    fd = world_open (b->w, way.inode, O_RDONLY);
    ck_assert_ptr_nonnull (fd);
    acl_case_be (b->w, &b->c);
    r = on_fd (b->w, &b->c, fd);
    fd_unref (fd);
    way_clear (&way);
    return r;
}

static int
by_path (struct both *b)
{
    const struct rcase *c = &b->c;
    const bool makes = c->verb == V_CREATE || c->verb == V_MKDIR || c->verb == V_MKNOD
                    || c->verb == V_SYMLINK;
    struct way way = { 0 };
    int r;

    acl_case_be (b->w, c);
    r = go (b->w, b->back, c->dir, c->name, &way);
    if (r == -ENOENT && way.dir && makes)
        r = acl_case_make (b->w, c, &way);
    else if (r == 0)
        r = c->verb == V_LINK || c->verb == V_RENAME ? to_second (b, &way)
                                                     : on_inode (b->w, c, &way);
    way_clear (&way);
    return r;
}

/* --- all -------------------------------------------------------------------------------------- */

static bool
agree (struct both *b)
{
    g_autoptr (GString) text = g_string_new (NULL);
    bool same;

    b->wanted_state = g_string_new (NULL);
    b->got_state = g_string_new (NULL);
    on_bare (make_scenes, b);
    b->got = verb_is_by_fd (b->c.verb) ? by_fd (b) : by_path (b);
    b->got = MIN (b->got, 0);
    on_bare (see_scenes, b);
    same = b->above
        || (b->got == b->wanted && strcmp (b->got_state->str, b->wanted_state->str) == 0);
    if (!same) {
        case_print (&b->c, text);
        printf ("seed %" G_GUINT64_FORMAT
                ", storage acts as the caller: %d\n%sthe kernel: %s, here: %s\n%s%s",
                b->seed, b->acts, text->str, b->wanted < 0 ? strerror (-b->wanted) : "done",
                b->got < 0 ? strerror (-b->got) : "done", b->wanted_state->str,
                strcmp (b->got_state->str, b->wanted_state->str) == 0 ? "" : b->got_state->str);
    }
    g_string_free (b->wanted_state, TRUE);
    g_string_free (b->got_state, TRUE);
    return same;
}

/* Without these, storage cannot act as other users, and does not. */
static void
let_act (bool acts)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2] = { 0 };

    ck_assert_int_eq (syscall (SYS_capget, &head, caps), 0);
    caps[0].effective = acts ? caps[0].permitted : caps[0].effective & ~(1u << CAP_SETUID);
    ck_assert_int_eq (syscall (SYS_capset, &head, caps), 0);
}

static void
acl_case_compare (bool acts)
{
    const char *text = g_getenv ("WINDLASS_SEED"), *number = g_getenv ("WINDLASS_CASES");
    const uint64_t seed = text ? strtoull (text, NULL, 10) : 1,
                   cases = number ? strtoull (number, NULL, 10) : test_amount (1000, 4000);
    unsigned differ = 0, refused = 0;
    struct world w;

    let_act (acts);
    w = posix_world_begin (OVER_POSIX);
    let_act (true);
    g_autofree char *bare_dir = g_strconcat (w.dir, "-bare", NULL);
    ck_assert_int_eq (g_mkdir (bare_dir, 0755), 0);
    for (uint64_t i = 0; i < cases && differ < 10; i++) {
        struct both b = { .w = &w,
                          .acts = acts,
                          .seed = text && cases == 1 ? seed : chance_number (seed, i) };

        b.c = pick_case (b.seed);
        b.bare = g_strdup_printf ("%s/scene", bare_dir);
        b.back = g_strdup_printf ("%s/scene", w.dir);
        differ += !agree (&b);
        refused += b.wanted == -EACCES || b.wanted == -EPERM;
        g_free (b.bare);
        g_free (b.back);
    }
    printf ("seed %" G_GUINT64_FORMAT ", storage acts as the caller: %d, %" G_GUINT64_FORMAT
            " cases, %u refused, %u differ\n",
            seed, acts, cases, refused, differ);
    acl_case_be (&w, NULL);
    posix_world_end (&w);
    on_bare (remove_dir, bare_dir);
    ck_assert_uint_eq (differ, 0);
    ck_assert_uint_gt (refused, cases / 8);
}

START_TEST (agrees_over_storage_that_refuses_nothing)
{
    acl_case_compare (false);
}
END_TEST

START_TEST (agrees_over_storage_that_acts_as_the_caller)
{
    acl_case_compare (true);
}
END_TEST

static bool
has_acls (const char *dir)
{
    g_autofree char *path = g_build_filename (dir, "windlass-acl-XXXXXX", NULL);
    uint64_t state = 1;
    const struct acl_bytes acl = pick_acl (&state);
    bool has;

    if (!g_mkdtemp (path))
        return false;
    has = setxattr (path, ACL_ACCESS, acl.bytes, acl.size, 0) == 0
       && setxattr (path, "user.x", "1", 1, 0) == 0;
    g_rmdir (path);
    return has;
}

TEST_PROGRAM (test_posix_acl_cases)
{
    Suite *suite = suite_create ("posix-acl as the kernel");
    TCase *tcase = tcase_create ("cases");
    int r;

    if (geteuid () != 0 || !(has_acls ("/dev/shm") || has_acls (g_get_tmp_dir ()))) {
        puts ("needs root, and ACLs on /dev/shm or where temporary files are");
        return 77;
    }
    if (has_acls ("/dev/shm"))
        g_setenv ("TMPDIR", "/dev/shm", TRUE);
    setvbuf (stdout, NULL, _IOLBF, 0);
    sem_init (&bare.asked, 0, 0);
    sem_init (&bare.done, 0, 0);
    g_assert (pthread_create (&bare.thread, NULL, bare_run, NULL) == 0);
    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, agrees_over_storage_that_refuses_nothing);
    tcase_add_test (tcase, agrees_over_storage_that_acts_as_the_caller);
    suite_add_tcase (suite, tcase);
    g_setenv ("CK_FORK", "no", TRUE); /* the other thread would remain */
    r = suite_run (suite);
    on_bare (NULL, NULL);
    pthread_join (bare.thread, NULL);
    return r;
}
