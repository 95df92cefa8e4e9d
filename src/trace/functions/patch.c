/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_FUNCTION_GRAPH

#include "trace/functions/patch.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* --- system calls --- */

static int
membarrier (int command)
{
    return syscall (SYS_membarrier, command, 0, 0) < 0 ? -errno : 0;
}

int
patch_barrier (void)
{
    int r = membarrier (MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);

    if (r != -EPERM)
        return r;
    /* It was not registered before. */
    r = membarrier (MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
    return r < 0 ? r : membarrier (MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

/* A page at that address, if it is free. */
static void *
page_at (uintptr_t address, size_t size)
{
    void *page = mmap ((void *) address, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if ((uintptr_t) page == address)
        return page;
    munmap (page, size); /* an old kernel, which takes the address for a hint */
    return NULL;
}

/* Near the module, before it or after it. The distance grows by an eighth per step: any free
 * address in reach will do, and few steps are tried. */
static int
page_make (struct patch_module *module)
{
    const size_t size = sysconf (_SC_PAGESIZE);
    const uintptr_t first = module->sites[0].room & -size,
                    last = module->sites[module->count - 1].room & -size;
    const uintptr_t reach = PATCH_REACH - (last - first);
    void *page = NULL;

    for (uintptr_t by = 16 * size; by < reach && !page; by += by / 8 & -size) {
        page = first > by ? page_at (first - by, size) : NULL;
        if (!page)
            page = page_at (last + by, size);
    }
    if (!page)
        return -ENOMEM;
    patch_page (page);
    if (mprotect (page, size, PROT_READ | PROT_EXEC) < 0) {
        int r = -errno;

        munmap (page, size);
        return r;
    }
    module->page = page;
    return 0;
}

/* All pages that contain its sites. */
static int
module_protect (struct patch_module *module, bool open)
{
    const size_t size = sysconf (_SC_PAGESIZE), bytes = 16; /* of room and entry */
    const uintptr_t first = module->sites[0].room & -size,
                    end = (module->sites[module->count - 1].room + bytes + size - 1) & -size;

    if (mprotect ((void *) first, end - first, PROT_READ | PROT_EXEC | (open ? PROT_WRITE : 0)) < 0)
        return -errno;
    module->open = open;
    return 0;
}

/* --- patching --- */

static bool
site_changes (const struct patch_site *site)
{
    return site->jump && !site->stuck && site->wanted != site->on;
}

static bool
module_changes (const struct patch_module *module)
{
    for (size_t i = 0; i < module->count; i++)
        if (site_changes (&module->sites[i]))
            return true;
    return false;
}

/* Makes all calls that the kernel may refuse, before any change. */
static int
modules_open (struct patch_module *const *modules, size_t count, const char **ret_what)
{
    int r = patch_barrier ();

    if (r < 0)
        *ret_what = "membarrier(2), which tells all processors that code has changed";
    for (size_t i = 0; i < count && r == 0; i++) {
        if (!module_changes (modules[i]))
            continue;
        *ret_what = "a page of memory near the program's code";
        r = modules[i]->page ? 0 : page_make (modules[i]);
        if (r == 0) {
            *ret_what = "to write to the program's code";
            r = module_protect (modules[i], true);
        }
    }
    return r;
}

/* step -1: the rooms. */
static void
module_step (struct patch_module *module, int step)
{
    for (size_t i = 0; i < module->count; i++) {
        struct patch_site *site = &module->sites[i];

        if (!site_changes (site) || (step < 0 && !site->wanted))
            continue;
        if (step < 0 ? !patch_room (site, module->page) : !patch_step (site, step, site->wanted))
            site->stuck = true;
    }
}

static void
module_done (struct patch_module *module)
{
    for (size_t i = 0; i < module->count; i++)
        if (site_changes (&module->sites[i]))
            module->sites[i].on = module->sites[i].wanted;
    if (module->open)
        (void) module_protect (module, false);
}

int
patch_apply (struct patch_module *const *modules, size_t count, const char **ret_what)
{
    int r = modules_open (modules, count, ret_what);

    for (int step = -1; r == 0 && step < PATCH_STEPS; step++) {
        for (size_t i = 0; i < count; i++)
            if (modules[i]->open)
                module_step (modules[i], step);
        (void) patch_barrier ();
    }
    for (size_t i = 0; i < count; i++)
        if (modules[i]->open)
            r == 0 ? module_done (modules[i]) : (void) module_protect (modules[i], false);
    return r;
}

#endif
