/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that print the record of an operation (struct operation) as text, and free it. */
#include "conform/history/history.h"

#include <string.h>

void
operation_free (struct operation *seen)
{
    g_free ((char *) seen->name);
    g_free ((char *) seen->newname);
    g_clear_pointer (&seen->bytes, g_bytes_unref);
    g_clear_pointer (&seen->data, g_bytes_unref);
    g_clear_pointer (&seen->names, g_ptr_array_unref);
    g_clear_pointer (&seen->detached, g_array_unref);
    g_free (seen);
}

static void
print_place (GString *out, int node, const char *name)
{
    if (node >= 0 && name)
        g_string_append_printf (out, " #%d/%s", node, name);
    else if (node >= 0)
        g_string_append_printf (out, " #%d", node);
}

static bool
operation_has_range (enum fop op)
{
    return op == FOP_readv || op == FOP_writev || op == FOP_fallocate || op == FOP_discard
        || op == FOP_zerofill || op == FOP_copy_file_range;
}

static void
print_asked (const struct operation *seen, GString *out)
{
    if (seen->op == FOP_command) {
        g_string_append_printf (out, "command %s", seen->name);
        return;
    }
    g_string_append (out, fop_name (seen->op));
    print_place (out, seen->node, NULL);
    if (seen->node < 0)
        print_place (out, seen->parent, seen->name);
    print_place (out, seen->newparent, seen->newname);
    if (seen->fd >= 0)
        g_string_append_printf (out, " fd%d", seen->fd);
    if (operation_has_range (seen->op))
        g_string_append_printf (out, " offset %lld size %zu", (long long) seen->offset, seen->size);
    if (seen->fd_out >= 0)
        g_string_append_printf (out, " to fd%d offset %lld", seen->fd_out,
                                (long long) seen->offset_out);
    if (seen->op == FOP_truncate || seen->op == FOP_ftruncate)
        g_string_append_printf (out, " to %lld", (long long) seen->offset);
    if (seen->name && seen->node >= 0 && seen->parent < 0)
        g_string_append_printf (out, " %s", seen->name);
}

static void
print_data (const struct operation *seen, GString *out)
{
    gsize size;
    const char *data = g_bytes_get_data (seen->data, &size);
    g_autofree char *part = g_strndup (data ? data : "", MIN (size, 16));

    for (gsize i = 0; i < MIN (size, 16); i++)
        part[i] = data[i] ? data[i] : '.';
    g_autofree char *safe = g_strescape (part, NULL);
    g_string_append_printf (out, " '%s'%s", safe, size > 16 ? "..." : "");
}

static void
print_answered (const struct operation *seen, GString *out)
{
    if (seen->ret < 0) {
        g_string_append_printf (out, " = %s", g_strerror (seen->err));
        return;
    }
    g_string_append_printf (out, " = %d", seen->ret);
    for (guint i = 0; seen->detached && i < seen->detached->len; i++) {
        const struct detached_file *file =
            &g_array_index (seen->detached, struct detached_file, i);
        g_string_append_printf (out, " #%d is #%d", file->was, file->now);
    }
    if (seen->found >= 0)
        g_string_append_printf (out, " #%d", seen->found);
    if (seen->has_iatt && seen->iatt.ia_type != IA_IFDIR)
        g_string_append_printf (out, " size %llu names %u mode 0%o",
                                (unsigned long long) seen->iatt.ia_size, seen->iatt.ia_nlink,
                                seen->iatt.ia_prot);
    if (seen->data)
        print_data (seen, out);
    for (guint i = 0; seen->names && i < seen->names->len; i++)
        g_string_append_printf (out, " %s", (const char *) seen->names->pdata[i]);
}

void
operation_print (const struct operation *seen, GString *out)
{
    print_asked (seen, out);
    print_answered (seen, out);
    if (seen->fault)
        g_string_append (out, " (an error was injected)");
    if (seen->interrupted)
        g_string_append (out, " (it was interrupted)");
}
