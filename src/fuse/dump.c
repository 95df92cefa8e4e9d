/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bridge's part of a statedump and of .meta. */
#include "fuse/kernel-cache.h"
#include "fuse/passthrough.h"
#include "fuse/reports.h"
#include "fuse/request.h"
#include "fuse/state.h"
#include "fuse/threads/limits.h"
#include "fuse/transport.h"

static const char *
choice_text (bool on)
{
    return on ? "on" : "off";
}

/* The results of the negotiation, known once INIT was answered. */
static void
dump_session (struct bridge *bridge, GString *out)
{
    const bool up = __atomic_load_n (&bridge->terms.session_up, __ATOMIC_ACQUIRE);

    g_string_append_printf (out, "init_recvd=%d\n", up);
    if (!up)
        return;
    g_string_append_printf (out, "proto_minor=%u\n", bridge->terms.proto_minor);
    g_string_append_printf (out, "direct_io_mode=%s\nfopen_keep_cache=%s\n",
                            choice_text (bridge->terms.direct_io),
                            choice_text (bridge->terms.keep_cache));
    bridge_transport (bridge)->dump (bridge, out);
    g_string_append_printf (out, "kernel_writeback_cache=%s\nidmapped_mounts=%s\n",
                            choice_text (bridge->terms.writeback),
                            choice_text (bridge->terms.idmapped));
    passthrough_dump (bridge, out);
}

void
bridge_dump (xlator_t *this, GString *out)
{
    struct bridge *bridge = this->private;

    g_string_append_printf (out, "fd=%d\n", fuse_session_fd (bridge->session));
    g_string_append_printf (out, "volfile=%s\nmount_point=%s\n", bridge->graph->volfile->path,
                            bridge->mountpoint);
    dump_session (bridge, out);
    g_string_append_printf (out, "entry_timeout=%f\nattribute_timeout=%f\nnegative_timeout=%f\n",
                            bridge->settings.entry_timeout, bridge->settings.attribute_timeout,
                            bridge->settings.negative_timeout);
    g_string_append_printf (out, "read_only=%s\n", choice_text (bridge->settings.read_only));
    device_dump (bridge, out);
    g_string_append_printf (out, "threads_failed=%u\n",
                            __atomic_load_n (&bridge->threads.starts.total, __ATOMIC_RELAXED));
    limits_dump (bridge, out);
    g_string_append_printf (out, "open=%u\n", bridge_count_open (bridge));
}

/* Tells which operations on a file the kernel does by itself, and which it sends here. */
void
bridge_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const struct bridge *bridge = this->private;
    const struct bridge_settings *settings = &bridge->settings;
    const bool file = !inode || inode->ia_type == IA_IFREG;

    g_string_append_printf (out,
                            "the kernel keeps its attributes for %g s (attribute-timeout) and its "
                            "name for %g s (entry-timeout)\n",
                            settings->attribute_timeout, settings->entry_timeout);
    bridge_transport (bridge)->describe (bridge, out);
    limits_explain (bridge, out);
    if (file && bridge->terms.direct_io)
        g_string_append (out,
                         "reads and writes go past the kernel's page cache (direct-io-mode)\n");
    else if (file)
        g_string_append_printf (out,
                                "the kernel caches its pages (direct-io-mode); they %s when it is "
                                "opened again (fopen-keep-cache), and %s when its "
                                "size or time changes (auto-invalidation)\n",
                                bridge->terms.keep_cache ? "stay" : "go",
                                settings->auto_invalidation ? "go" : "stay");
    if (file)
        g_string_append_printf (out, "%s (kernel-writeback-cache)\n",
                                bridge->terms.writeback
                                    ? "the kernel collects writes and sends them later; those that "
                                      "neither fsync nor close has sent are lost with the daemon"
                                    : "each write comes here at once; if the kernel collected "
                                      "them, small ones would be faster, and lost with the daemon "
                                      "until fsync or close");
    if (file)
        g_string_append_printf (out, "%s (lock-forwarding)\n",
                                bridge->terms.locks
                                    ? "locks come here, and storage takes them on the file"
                                    : "the kernel keeps locks, those of this mount alone");
    if (file && request_spares_flush (bridge))
        g_string_append (
            out,
            "a file that was only read is closed without a flush, as only storage would see it\n");
    if (settings->read_only)
        g_string_append (out, "nothing may be changed (read-only)\n");
}
