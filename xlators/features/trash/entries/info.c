/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Information files: made with O_EXCL, by the user whose trash it is. */
#include "../trash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DATE "\nDeletionDate="
#define INFO_PROCESS "X-Windlass-Pid="
#define INFO_READ (64 << 10)  /* bytes that are read */
#define INFO_YOUNG 300000000  /* age in nanoseconds up to which a program that has made the file may
                               * still be about to write it */
#define INFO_LOOK 20000       /* microseconds between two looks at its age */
#define INFO_PATIENCE (2 * INFO_YOUNG) /* nanoseconds for all files: none is young for longer, also
                                        * if the clock of the storage is a little ahead */

static int
info_write (struct client *owner, fd_t *fd, const char *text)
{
    struct iovec iov = { (char *) text, strlen (text) };
    const int r = sync_writev (owner, fd, &iov, 1, 0, 0, NULL, NULL, NULL);

    return r >= 0 && (size_t) r < iov.iov_len ? -ENOSPC : error_or_0 (r);
}

static int
info_write_synced (struct client *owner, fd_t *fd, const char *text)
{
    const int r = info_write (owner, fd, text);

    return r < 0 ? r : error_or_0 (sync_fsync (owner, fd, 0, NULL, NULL));
}

int
trash_info_make (xlator_t *this, struct client *owner, inode_t *folder, const char *name,
                 const char *text, fd_t **ret_fd, inode_t **ret_inode)
{
    g_autoptr (fd_t) fd = NULL;
    int r = sync_name_create (owner, this->fd_maker, folder, name, 0600, ret_inode, &fd);

    if (r < 0)
        return r;
    r = ret_fd ? info_write (owner, fd, text) : info_write_synced (owner, fd, text);
    if (r < 0) {
        sync_name_remove (owner, folder, name, *ret_inode);
        g_clear_pointer (ret_inode, inode_unref);
    } else if (ret_fd) {
        *ret_fd = g_steal_pointer (&fd);
    }
    return r;
}

/* --- of a daemon that ended ------------------------------------------------------------------- */

/* The date is the ctime of what was removed, which may have another one now: each rename sets it.
 * So both texts lose their dates, which have one size. */
static void
info_hide_date (char *content, char *text)
{
    const char *date = strstr (text, DATE);
    const gsize at = date ? (gsize) (date - text) + strlen (DATE) : 0;

    for (gsize i = at; date && text[i] && text[i] != '\n'; i++) {
        text[i] = '0';
        if (i < strlen (content))
            content[i] = '0';
    }
}

/* Returns 0 if the file has this text; 1 if it has its beginning alone, or nothing, or another
 * date, or if it names a process behind the text, which the daemon that made it still knew; or a
 * negative errno. */
static int
info_compare (struct client *owner, fd_t *fd, const char *text)
{
    g_autofree char *content = NULL, *undated = g_strdup (text);
    struct readv_reply reply;
    const int r = sync_readv (owner, fd, INFO_READ, 0, 0, NULL, &reply);

    if (r >= 0) {
        content = g_malloc0 ((gsize) r + 1);
        iov_unload (content, (size_t) r, reply.vector, reply.count);
    }
    readv_reply_drop (&reply);
    if (r < 0)
        return r;
    if (strcmp (content, text) == 0)
        return 0;
    info_hide_date (content, undated);
    return strlen (content) == (size_t) r
                && (g_str_has_prefix (undated, content)
                    || (g_str_has_prefix (content, undated)
                        && g_str_has_prefix (content + strlen (undated), INFO_PROCESS)))
             ? 1
             : -EEXIST;
}

static bool
info_is_young (struct client *owner, inode_t *inode)
{
    const struct timespec now = clock_today ();
    struct iatt buf;
    int64_t age;

    trash_folder_stat (owner, inode, &buf);
    age = trash_nanoseconds (now.tv_sec, (uint32_t) now.tv_nsec)
        - trash_nanoseconds (buf.ia_mtime, buf.ia_mtime_nsec);
    /* The time of a file may be a little later than clock_today. */
    return buf.ia_type != IA_INVAL && age > -INFO_YOUNG && age < INFO_YOUNG;
}

/* Returns 0 once the file may be written; or a negative errno. All files together are waited for as
 * long as one: those that a daemon that ended has made are older than the first look at any. What
 * is young still was made since then, or its owner renews its times: it is left alone. */
static int
info_wait (struct client *owner, fd_t *fd, const char *text, struct trash_work *work)
{
    int r = info_compare (owner, fd, text);

    if (work->patience == 0)
        work->patience = clock_now () + INFO_PATIENCE;
    while (r == 1 && info_is_young (owner, fd->inode)) {
        if (clock_now () > work->patience)
            return -EEXIST;
        if (!trash_work_next (work))
            return -EINTR;
        g_usleep (INFO_LOOK);
        r = info_compare (owner, fd, text);
    }
    return MIN (r, 0);
}

/* Returns whether an information file has its file beside it. */
static bool
info_has_file (struct client *owner, inode_t *files, const char *info)
{
    g_autofree char *name = g_strndup (info, strlen (info) - strlen (TRASH_INFO_SUFFIX));
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;

    return sync_name_look (owner, files, name, &there, &buf) != -ENOENT;
}

int
trash_info_adopt (xlator_t *this, struct trash_work *work, struct client *owner, inode_t *folder,
                  const char *name, const char *text, inode_t *files, inode_t **ret_inode)
{
    g_autoptr (inode_t) inode = NULL;
    g_autoptr (fd_t) fd = NULL;
    struct iatt buf;
    int r;

    if (info_has_file (owner, files, name)
        || sync_name_look (owner, folder, name, &inode, &buf) < 0 || buf.ia_type != IA_IFREG
        || sync_name_open (owner, this->fd_maker, inode, O_RDWR, &fd) < 0)
        return -EEXIST;
    r = info_wait (owner, fd, text, work);
    if (r == 0 && info_has_file (owner, files, name))
        r = -EEXIST;
    if (r == 0)
        r = info_write_synced (owner, fd, text);
    if (r == 0)
        *ret_inode = g_steal_pointer (&inode);
    return r;
}
