/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the translator and the name of an address of code. */
#include "conform/inprocess/inprocess.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <string.h>

#define MODULES_MAX 64

/* The code of a translator's module. */
static struct module {
    const char *base, *end;
    const char *type;
    bool boundary; /* of realms */
} modules[MODULES_MAX];
static unsigned n_modules;

/* The end of the module at base. */
static int
module_end (struct dl_phdr_info *info, size_t size, void *data)
{
    struct module *module = data;
    const char *end = NULL;

    if ((const char *) info->dlpi_addr != module->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            end = module->base + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    module->end = end;
    return 1;
}

void
places_learn (const struct graph *graph)
{
    void *warm[2];

    backtrace (warm, G_N_ELEMENTS (warm)); /* loads its library now, not in a signal handler */
    n_modules = 0;
    for (guint i = 0; i < graph->xlators->len && n_modules < MODULES_MAX; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];
        Dl_info info, own;

        if (!dladdr (xl->api, &info) || !dladdr (&variants, &own)
            || info.dli_fbase == own.dli_fbase)
            continue;
        modules[n_modules] = (struct module){ info.dli_fbase, info.dli_fbase, xl->type,
                                              xl->api->realms };
        dl_iterate_phdr (module_end, &modules[n_modules++]);
    }
}

const char *
place_type (const void *address)
{
    for (unsigned i = 0; i < n_modules; i++)
        if ((const char *) address >= modules[i].base && (const char *) address < modules[i].end)
            return modules[i].type;
    return NULL;
}

bool
place_is_boundary (const char *type)
{
    for (unsigned i = 0; i < n_modules; i++)
        if (modules[i].boundary && strcmp (modules[i].type, type) == 0)
            return true;
    return false;
}

const void *
place_in_stack (void)
{
    void *all[24];
    int n = backtrace (all, G_N_ELEMENTS (all));

    for (int i = 1; i < n; i++)
        if (place_type (all[i]))
            return all[i];
    return NULL;
}

/* The two lines that addr2line prints: a function, and a file with a line. */
static char *
place_ask (const char *object, size_t offset)
{
    g_autofree char *number = g_strdup_printf ("0x%zx", offset), *out = NULL;
    char *argv[] = { "addr2line", "-f", "-s", "-e", (char *) object, number, NULL };
    g_auto (GStrv) lines = NULL;

    if (!g_spawn_sync (NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                       NULL, &out, NULL, NULL, NULL))
        return NULL;
    lines = g_strsplit (out, "\n", 3);
    if (!lines[0] || !lines[1] || lines[0][0] == '?')
        return NULL;
    *strchrnul (lines[1], ' ') = '\0'; /* removes discriminators */
    return g_strdup_printf ("%s (%s)", lines[0], lines[1]);
}

char *
place_name (const void *address)
{
    static GMutex lock;
    static GHashTable *known; /* address -> name */
    Dl_info info;
    char *name;

    if (!dladdr (address, &info))
        return g_strdup_printf ("%p", address);
    g_mutex_lock (&lock);
    if (!known)
        known = g_hash_table_new (NULL, NULL);
    name = g_hash_table_lookup (known, address);
    if (!name) {
        /* The return address is after the call, and may belong to the next line. */
        const size_t offset = (const char *) address - 1 - (const char *) info.dli_fbase;
        g_autofree char *base = g_path_get_basename (info.dli_fname);
        name = place_ask (info.dli_fname, offset);
        if (!name)
            name = g_strdup_printf ("%s+0x%zx", base, offset);
        g_hash_table_insert (known, (void *) address, name);
    }
    g_mutex_unlock (&lock);
    return g_strdup (name);
}
