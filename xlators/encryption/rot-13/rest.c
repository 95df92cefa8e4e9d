/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rot13.h"

#include <errno.h>

/* EOPNOTSUPP makes the kernel, or cp, copy by reading and writing. A copy made below this
 * translator keeps the rotation of the source. That is right only if a read and a write would also
 * keep it. */
void
rot13_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in, fd_t *fd_out,
                       off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    const rot13_private_t *priv = this->private;

    if (priv->encrypt_write != priv->decrypt_read) {
        STACK_UNWIND (copy_file_range, frame, -1, EOPNOTSUPP, NULL, NULL, NULL, NULL);
        return;
    }
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), copy_file_range, fd_in, off_in, fd_out, off_out,
                     len, flags, xdata);
}

void
rot13_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const rot13_private_t *priv = this->private;

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it rotates what is in files\n");
        return;
    }
    g_string_append_printf (out, "%s (encrypt-write)\n",
                            priv->encrypt_write ? "rotates what is written to it by 13 letters"
                                                : "leaves what is written as it is");
    g_string_append_printf (out, "%s (decrypt-read)\n",
                            priv->decrypt_read ? "rotates what is read from it back"
                                               : "leaves what is read as it is");
}
