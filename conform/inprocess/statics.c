/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 */
#include "conform/inprocess/inprocess.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct image {
    const char *type;
    const char *file;
    const char *base;
    ElfW (Addr) at;
    size_t size;
    char *was;
};

static GArray *images;

static int
image_find (struct dl_phdr_info *info, size_t size, void *data)
{
    struct image *image = data;
    bool here = false;
    ElfW (Addr) relro = 0, relro_end = 0;

    for (int i = 0; i < info->dlpi_phnum; i++)
        here |= info->dlpi_phdr[i].p_type == PT_LOAD
             && info->dlpi_addr + (info->dlpi_phdr[i].p_vaddr & ~(ElfW (Addr)) 4095)
                    == (ElfW (Addr)) image->base;
    if (!here)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW (Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_GNU_RELRO)
            relro = info->dlpi_addr + part->p_vaddr, relro_end = relro + part->p_memsz;
        if (part->p_type == PT_LOAD && part->p_flags & PF_W) {
            image->at = info->dlpi_addr + part->p_vaddr;
            image->size = part->p_memsz;
        }
    }
    if (relro && image->at <= relro && relro_end < image->at + image->size) {
        image->size -= relro_end - image->at;
        image->at = relro_end;
    }
    return 1;
}

static bool
image_known (const char *base)
{
    for (guint i = 0; i < images->len; i++)
        if (g_array_index (images, struct image, i).base == base)
            return true;
    return false;
}

/* There are gaps between variables, which the address sanitizer forbids to read, also in memcpy. */
#define READS_GAPS __attribute__ ((no_sanitize ("address"), noinline))

READS_GAPS static char *
image_copy (const struct image *image)
{
    char *copy = g_malloc (image->size);

    for (size_t at = 0; at < image->size; at++)
        copy[at] = ((const volatile char *) image->at)[at];
    return copy;
}

/* The first byte from at on that differs; updates the image there. Or image->size. */
READS_GAPS static size_t
image_changed (struct image *image, size_t at)
{
    const volatile char *is = (const volatile char *) image->at;

    while (at < image->size && is[at] == image->was[at])
        at++;
    if (at < image->size)
        image->was[at] = is[at];
    return at;
}

void
statics_mark (const struct graph *graph)
{
    images = g_array_new (FALSE, FALSE, sizeof (struct image));
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];
        struct image image = { .type = xl->type };
        Dl_info info;

        if (xl->api == &inspect_api || !dladdr (xl->api, &info) || image_known (info.dli_fbase))
            continue;
        image.base = info.dli_fbase;
        image.file = info.dli_fname;
        dl_iterate_phdr (image_find, &image);
        if (image.size == 0)
            continue;
        image.was = image_copy (&image);
        g_array_append_val (images, image);
    }
}

/* --- names of variables --------------------------------------------------------------------- */

/* The name of the variable at an offset, from the file's symbol table, or NULL. Freed with
 * g_free. */
static char *
symbol_name (const char *file, ElfW (Addr) offset)
{
    g_autofree char *bytes = NULL;
    gsize size;

    if (!g_file_get_contents (file, &bytes, &size, NULL) || size < sizeof (ElfW (Ehdr)))
        return NULL;
    const ElfW (Ehdr) *head = (const ElfW (Ehdr) *) bytes;
    if (head->e_shoff > size || head->e_shnum > (size - head->e_shoff) / sizeof (ElfW (Shdr)))
        return NULL;
    const ElfW (Shdr) *parts = (const ElfW (Shdr) *) (bytes + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (parts[i].sh_type != SHT_SYMTAB || parts[i].sh_link >= head->e_shnum
            || parts[i].sh_offset + parts[i].sh_size > size)
            continue;
        const ElfW (Sym) *symbols = (const ElfW (Sym) *) (bytes + parts[i].sh_offset);
        const ElfW (Shdr) *strings = &parts[parts[i].sh_link];
        for (size_t j = 0; j < parts[i].sh_size / sizeof *symbols; j++)
            if (offset >= symbols[j].st_value && offset < symbols[j].st_value + symbols[j].st_size
                && symbols[j].st_name < strings->sh_size
                && strings->sh_offset + symbols[j].st_name < size)
                return g_strdup (bytes + strings->sh_offset + symbols[j].st_name);
    }
    return NULL;
}

/*
 */
static bool
image_of_compiler (const char *name)
{
    return g_str_has_prefix (name, "completed.") || g_str_has_prefix (name, "__asan")
        || g_str_has_prefix (name, "__ubsan") || g_str_has_prefix (name, "__sanitizer")
        || g_str_has_prefix (name, ".L") || g_str_has_prefix (name, "_GLOBAL_OFFSET")
        || g_str_has_prefix (name, "*.L");
}

void
statics_check (const struct graph *graph)
{
    for (guint i = 0; i < images->len; i++) {
        struct image *image = &g_array_index (images, struct image, i);
        g_autoptr (GHashTable) told = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

        for (size_t at = image_changed (image, 0); at < image->size;
             at = image_changed (image, at + 1)) {
            char *name = symbol_name (image->file, image->at + at - (ElfW (Addr)) image->base);
            if (name && !image_of_compiler (name) && !g_hash_table_contains (told, name))
                finding_add_type ("static variable changed", image->type,
                                  "'%s': a volfile may use the translator twice", name);
            g_hash_table_add (told, name ? name : g_strdup ("?"));
        }
    }
}
