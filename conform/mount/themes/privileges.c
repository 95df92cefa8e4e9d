/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clearing of setuid, setgid and file capabilities, and inheritance from a setgid directory. */
#include "conform/mount/roles.h"
#include "conform/mount/themes/themes.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/xattr.h>

static const unsigned modes[] = { 04755, 02755, 06755, 02745, 06777, 06666, 01777, 07777, 02767 };

/* --- clearing ------------------------------------------------------------------------------- */

static void
take_write (int fd)
{
    TELL ("write", write (fd, "x", 1));
}

static void
take_write_nothing (int fd)
{
    TELL ("write", write (fd, "", 0));
}

static void
take_ftruncate (int fd)
{
    TELL ("ftruncate", ftruncate (fd, 3));
}

static void
take_truncate (int fd)
{
    TELL ("truncate", truncate ("file", 3));
}

static void
take_open_trunc (int fd)
{
    close (TELL_FD ("open", open ("file", O_WRONLY | O_TRUNC)));
}

static void
take_fallocate (int fd)
{
    TELL ("fallocate", fallocate (fd, 0, 0, 4096));
}

static void
take_punch (int fd)
{
    TELL ("punch", fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
}

static void
take_copy (int fd)
{
    const int in = open ("in", O_RDONLY);

    TELL ("copy_file_range", copy_file_range (in, NULL, fd, NULL, 4, 0));
}

static void
take_sendfile (int fd)
{
    const int in = open ("in", O_RDONLY);

    TELL ("sendfile", sendfile (fd, in, NULL, 4));
}

static void
take_map (int fd)
{
    char *map = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED) {
        observe_result ("mmap", -1);
        return;
    }
    map[0] = 'm';
    TELL ("msync", msync (map, 4096, MS_SYNC));
    munmap (map, 4096);
}

static void
take_chown_same (int fd)
{
    TELL ("chown", chown ("file", getuid (), getgid ()));
}

static void
take_chown_none (int fd)
{
    TELL ("chown", chown ("file", -1, -1));
}

static void
take_chown_other (int fd)
{
    TELL ("chown", chown ("file", 12345, 12345));
}

static void
take_fchown (int fd)
{
    TELL ("fchown", fchown (fd, getuid (), -1));
}

static void
take_chmod (int fd)
{
    TELL ("chmod", fchmod (fd, 06711));
}

static void
take_rename (int fd)
{
    TELL ("rename", rename ("file", "in"));
    TELL ("and back", rename ("in", "file"));
}

static void
take_link (int fd)
{
    TELL ("link", link ("file", "link"));
}

static void
take_times (int fd)
{
    TELL ("futimens", futimens (fd, NULL));
}

static void
take_setxattr (int fd)
{
    TELL ("setxattr", fsetxattr (fd, "user.x", "y", 1, 0));
}

static const struct {
    const char *name;
    void (*run) (int fd);
} takers[] = {
    { "write", take_write }, { "write of nothing", take_write_nothing },
    { "ftruncate", take_ftruncate }, { "truncate", take_truncate },
    { "open O_TRUNC", take_open_trunc }, { "fallocate", take_fallocate },
    { "punch a hole", take_punch }, { "copy_file_range", take_copy }, { "sendfile", take_sendfile },
    { "a shared map", take_map }, { "chown to the same", take_chown_same },
    { "chown to nobody", take_chown_none }, { "chown to another", take_chown_other },
    { "fchown", take_fchown }, { "chmod", take_chmod }, { "rename", take_rename },
    { "link", take_link }, { "times", take_times }, { "setxattr", take_setxattr },
};

struct taking {
    unsigned taker, fd;
};

static void
try_take (void *data)
{
    struct taking *taking = data;

    takers[taking->taker].run (taking->fd);
}

/* One file after the other, each with other bits. by_other: another user does it through a
 * descriptor opened before. */
static void
take_from (unsigned taker, bool by_other)
{
    for (size_t i = 0; i < G_N_ELEMENTS (modes); i++) {
        struct taking taking = { taker, 0 };
        const int in = make_file ("in", "from");
        int fd;

        unlink ("file");
        fd = make_file ("file", "0123456789");
        NEED (fchmod (fd, modes[i]));
        taking.fd = fd;
        observe ("mode %04o", modes[i]);
        if (by_other)
            as_other (STRANGER, GROUP_C, NULL, 0, try_take, &taking);
        else
            try_take (&taking);
        show ("file", "file");
        close (fd);
        close (in);
    }
}

static void
run_take (const struct mount_case *c)
{
    take_from (c->a, false);
}

static void
run_take_by_other (const struct mount_case *c)
{
    NEED (chmod (".", 0777));
    take_from (c->a, true);
}

/* A capability of version 2: cap_net_bind_service. */
static const unsigned char capability[20] = { 1, 0, 0, 2, 0, 4 };

static void
run_capability (const struct mount_case *c)
{
    char value[64];
    int fd;

    close (make_file ("in", "from"));
    fd = make_file ("file", "0123456789");
    TELL ("give it", setxattr ("file", "security.capability", capability, sizeof capability, 0));
    TELL ("it has", getxattr ("file", "security.capability", value, sizeof value));
    takers[c->a].run (fd);
    TELL ("it has now", getxattr ("file", "security.capability", value, sizeof value));
}

/* --- inheritance ---------------------------------------------------------------------------- */

static void
try_make_in (void *data)
{
    umask (002);
    TELL_FD ("a file", open ("dir/file", O_CREAT | O_WRONLY, 02775));
    TELL_FD ("a file for others", open ("dir/plain", O_CREAT | O_WRONLY, 0666));
    TELL ("a directory", mkdir ("dir/sub", 0777));
    TELL ("a fifo", mkfifo ("dir/fifo", 0666));
    TELL ("a link", symlink ("x", "dir/link"));
    TELL ("a file by mknod", mknod ("dir/node", S_IFREG | 02770, 0));
    TELL ("in the new directory", mkdir ("dir/sub/sub", 0700));
    TELL ("chmod of the directory", chmod ("dir/sub", 02700));
}

static void
run_setgid_directory (const struct mount_case *c)
{
    make_tree ("d:dir");
    NEED (chown ("dir", OWNER, GROUP_A));
    NEED (chmod ("dir", 02777));
    as_role (&roles[c->a], try_make_in, NULL);
    show_tree (".");
}

void
privileges_cases (GPtrArray *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (takers); i++) {
        case_add (list, run_take, i, 0, 0, 0, "privileges/%s", takers[i].name);
        case_add (list, run_take_by_other, i, 0, 0, CASE_NEEDS_ROOT, "privileges/%s by another",
                  takers[i].name);
        case_add (list, run_capability, i, 0, 0, CASE_NEEDS_ROOT,
                  "privileges/%s takes capabilities", takers[i].name);
    }
    for (unsigned i = 0; roles[i].name; i++)
        case_add (list, run_setgid_directory, i, 0, 0, CASE_NEEDS_ROOT,
                  "privileges/a setgid directory, made in as %s", roles[i].name);
}
