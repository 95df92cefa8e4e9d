/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the daemon is and has agreed on with the kernel, as KEY=VALUE: for windlass doctor. */
#include "daemon/daemon.h"

#include "core/base/log-journal.h"
#include "core/base/printable.h"
#include "core/report/failures.h"

#include <string.h>
#include <unistd.h>

static void
state_line (GString *out, const char *key, const char *value)
{
    g_string_append_printf (out, "%s=", key);
    line_append (out, value, 4096);
    g_string_append_c (out, '\n');
}

static void
state_count (const struct failure *failure, void *data)
{
    *(uint64_t *) data += failure->times;
}

/* An option of the bridge, as it was set. */
static const char *
state_option (const xlator_t *bridge, const char *key)
{
    for (guint i = 0; bridge->settings && i < bridge->settings->len; i++) {
        const struct option_setting *setting = bridge->settings->pdata[i];

        if (strcmp (setting->option->key[0], key) == 0 && setting->text)
            return setting->text;
    }
    return "";
}

int
command_state (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    xlator_t *bridge = bridge_xlator (running->bridge);
    g_autofree char *log = log_path ();
    uint64_t errors = 0, before = failures_foreach (state_count, &errors);

    state_line (answer, "version", PACKAGE_VERSION);
    state_line (answer, "libfuse", bridge_library ());
    g_string_append_printf (answer, "abi=%d\npid=%d\nerrors=%" G_GUINT64_FORMAT "\n", XLATOR_ABI,
                            (int) getpid (), before + errors);
    state_line (answer, "log", log_is_journal () ? "journal" : log ? log : "");
    state_line (answer, "log_level", log_level_name (log_level ()));
    state_line (answer, "stuck_after", state_option (bridge, "stuck-after"));
    bridge->api->dumpops.priv (bridge, answer);
    return 0;
}
