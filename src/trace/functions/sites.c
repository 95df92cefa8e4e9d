/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds functions that can be traced. The compiler lists the room of each function in a section,
 * which is loaded into memory. The section headers, which give its place, are only in the file. The
 * file may have been replaced since it was loaded: it is used only if its build id equals that of
 * the loaded one, or if neither has one. patch_look then checks each site.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_FUNCTION_GRAPH

#include "trace/functions/sites.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define SECTION "__patchable_function_entries"
#define PROGRAM "/proc/self/exe"

/* --- a file --- */

struct elf {
    GMappedFile *file;
    const char *bytes;
    size_t size;
    const ElfW (Ehdr) *head;
    const ElfW (Shdr) *sections; /* head->e_shnum of them; all their bytes are within the file */
};

static bool
is_inside (const struct elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

static bool
elf_parse (struct elf *elf)
{
    const ElfW (Ehdr) *head = elf->head = (const void *) elf->bytes;

    if (elf->size < sizeof *head || memcmp (head->e_ident, ELFMAG, SELFMAG) != 0
        || head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof *elf->sections
        || head->e_shoff % sizeof (uint64_t) != 0
        || !is_inside (elf, head->e_shoff, (uint64_t) head->e_shnum * sizeof *elf->sections)
        || head->e_shstrndx >= head->e_shnum)
        return false;
    elf->sections = (const void *) (elf->bytes + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (elf->sections[i].sh_type != SHT_NOBITS
            && !is_inside (elf, elf->sections[i].sh_offset, elf->sections[i].sh_size))
            return false;
    return true;
}

static void
elf_close (struct elf *elf)
{
    g_clear_pointer (&elf->file, g_mapped_file_unref);
}

static bool
elf_open (struct elf *elf, const char *path)
{
    elf->file = g_mapped_file_new (path, FALSE, NULL);
    if (!elf->file)
        return false;
    elf->bytes = g_mapped_file_get_contents (elf->file);
    elf->size = g_mapped_file_get_length (elf->file);
    if (elf_parse (elf))
        return true;
    elf_close (elf);
    return false;
}

/* A string in a string section; NULL if it is not one. */
static const char *
elf_text (const struct elf *elf, unsigned section, uint64_t offset)
{
    const ElfW (Shdr) *texts = &elf->sections[section];

    if (section >= elf->head->e_shnum || texts->sh_type != SHT_STRTAB || offset >= texts->sh_size
        || !memchr (elf->bytes + texts->sh_offset + offset, '\0', texts->sh_size - offset))
        return NULL;
    return elf->bytes + texts->sh_offset + offset;
}

/* The first section of that type and, unless name is NULL, of that name; or NULL. */
static const ElfW (Shdr) *
elf_section (const struct elf *elf, uint32_t type, const char *name)
{
    for (unsigned i = 0; i < elf->head->e_shnum; i++)
        if (elf->sections[i].sh_type == type
            && (!name
                || g_strcmp0 (elf_text (elf, elf->head->e_shstrndx, elf->sections[i].sh_name), name)
                       == 0))
            return &elf->sections[i];
    return NULL;
}

/* The build id in notes, freed with g_free; NULL if there is none. */
static char *
build_id (const char *notes, size_t size)
{
    ElfW (Nhdr) note;

    while (size >= sizeof note) {
        memcpy (&note, notes, sizeof note);
        const size_t name = (note.n_namesz + 3) & ~3UL,
                     whole = sizeof note + name + ((note.n_descsz + 3) & ~3UL);

        if (whole > size)
            return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4
            && memcmp (notes + sizeof note, "GNU", 4) == 0) {
            GString *text = g_string_new (NULL);

            for (unsigned i = 0; i < note.n_descsz; i++)
                g_string_append_printf (text, "%02x",
                                        (unsigned char) notes[sizeof note + name + i]);
            return g_string_free (text, FALSE);
        }
        notes += whole;
        size -= whole;
    }
    return NULL;
}

static char *
elf_build_id (const struct elf *elf)
{
    const ElfW (Shdr) *notes = elf_section (elf, SHT_NOTE, ".note.gnu.build-id");

    return notes ? build_id (elf->bytes + notes->sh_offset, notes->sh_size) : NULL;
}

/* --- loaded files --- */

struct loaded {
    const struct dl_phdr_info *info;
    const char *path;
};

static char *
loaded_build_id (const struct dl_phdr_info *info)
{
    char *id = NULL;

    for (unsigned i = 0; i < info->dlpi_phnum && !id; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            id = build_id ((const char *) (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                           info->dlpi_phdr[i].p_memsz);
    return id;
}

/* Returns true if the whole range is in one of its segments with these flags. */
static bool
loaded_has (const struct dl_phdr_info *info, uintptr_t address, size_t size, uint32_t flags)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW (Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && (part->p_flags & flags) == flags && address >= start
            && size <= part->p_memsz && address - start <= part->p_memsz - size)
            return true;
    }
    return false;
}

/* --- names --- */

/* "posix_open.isra.0" is the compiler's variant of posix_open. */
static const char *
name_keep (GStringChunk *names, const char *name)
{
    const char *dot = strchr (name, '.');

    return g_string_chunk_insert_len (names, name, dot && dot > name ? dot - name : -1);
}

static int
compare_sites (const void *a, const void *b)
{
    const struct patch_site *left = a, *right = b;

    return left->entry < right->entry ? -1 : left->entry > right->entry;
}

static void
names_take (struct sites_module *module, const struct elf *elf, const ElfW (Shdr) *table)
{
    const ElfW (Sym) *symbols = (const void *) (elf->bytes + table->sh_offset);

    if (table->sh_entsize != sizeof *symbols || table->sh_offset % sizeof (uint64_t) != 0)
        return;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const struct patch_site key = { .entry = module->base + symbols[i].st_value };
        const char *name = elf_text (elf, table->sh_link, symbols[i].st_name);
        struct patch_site *site;

        if (ELF64_ST_TYPE (symbols[i].st_info) != STT_FUNC || !name || !*name)
            continue;
        site = bsearch (&key, module->patch.sites, module->patch.count, sizeof key, compare_sites);
        if (site && !site->name)
            site->name = name_keep (module->names, name);
    }
}

/* Symbols that were stripped from a file may be in a separate debug file, which is found as gdb
 * does. */
static void
names_of_debug_file (struct sites_module *module, const char *id)
{
    g_autofree char *path = id && strlen (id) > 2
                              ? g_strdup_printf ("/usr/lib/debug/.build-id/%.2s/%s.debug", id,
                                                 id + 2)
                              : NULL;
    struct elf elf = { 0 };

    if (!path || !elf_open (&elf, path))
        return;
    if (elf_section (&elf, SHT_SYMTAB, NULL))
        names_take (module, &elf, elf_section (&elf, SHT_SYMTAB, NULL));
    elf_close (&elf);
}

static void
names_find (struct sites_module *module, const struct elf *elf, const char *id)
{
    if (elf_section (elf, SHT_SYMTAB, NULL))
        names_take (module, elf, elf_section (elf, SHT_SYMTAB, NULL));
    else
        names_of_debug_file (module, id);
    if (elf_section (elf, SHT_DYNSYM, NULL))
        names_take (module, elf, elf_section (elf, SHT_DYNSYM, NULL));
}

/* --- modules --- */

static void
module_free (gpointer data)
{
    struct sites_module *module = data;

    g_free (module->path);
    g_free (module->patch.sites);
    g_string_chunk_free (module->names);
    g_free (module);
}

GPtrArray *
sites_modules_new (void)
{
    return g_ptr_array_new_with_free_func (module_free);
}

bool
sites_is_program (const struct sites_module *module)
{
    return strcmp (module->path, PROGRAM) == 0;
}

static struct sites_module *
module_new (const struct loaded *loaded, const uintptr_t *rooms, size_t count)
{
    struct sites_module *module = g_new0 (struct sites_module, 1);

    module->base = loaded->info->dlpi_addr;
    module->path = g_strdup (loaded->path);
    module->names = g_string_chunk_new (4096);
    module->patch.sites = g_new0 (struct patch_site, count);
    for (size_t i = 0; i < count; i++) {
        struct patch_site *site = &module->patch.sites[module->patch.count];

        /* The entry of a function that the linker dropped is 0. */
        if (!loaded_has (loaded->info, rooms[i], 16, PF_X))
            continue;
        site->room = rooms[i];
        patch_look (site);
        module->patch.count++;
    }
    qsort (module->patch.sites, module->patch.count, sizeof *module->patch.sites, compare_sites);
    return module;
}

/* Returns NULL if none of its functions has room. */
static struct sites_module *
module_read (const struct loaded *loaded, const struct elf *elf)
{
    const ElfW (Shdr) *section = elf_section (elf, SHT_PROGBITS, SECTION);
    g_autofree char *id = elf_build_id (elf), *theirs = loaded_build_id (loaded->info);
    const uintptr_t rooms = section ? loaded->info->dlpi_addr + section->sh_addr : 0;
    struct sites_module *module;

    if (!section || g_strcmp0 (id, theirs) != 0 || rooms % sizeof (uintptr_t) != 0
        || !loaded_has (loaded->info, rooms, section->sh_size, PF_R))
        return NULL;
    module = module_new (loaded, (const uintptr_t *) rooms, section->sh_size / sizeof (uintptr_t));
    names_find (module, elf, id);
    if (module->patch.count > 0)
        return module;
    module_free (module);
    return NULL;
}

static struct sites_module *
module_known (GPtrArray *modules, const struct loaded *loaded)
{
    for (guint i = 0; i < modules->len; i++) {
        struct sites_module *module = modules->pdata[i];

        if (module->base == loaded->info->dlpi_addr && strcmp (module->path, loaded->path) == 0)
            return module;
    }
    return NULL;
}

static int
site_look_at (struct dl_phdr_info *info, size_t size, void *data)
{
    GPtrArray *modules = data;
    /* Only the program itself has an empty name; a file without a path is the kernel's. */
    const struct loaded loaded = { info, *info->dlpi_name ? info->dlpi_name : PROGRAM };
    struct sites_module *module = module_known (modules, &loaded);
    struct elf elf = { 0 };

    if (!module && *loaded.path == '/' && elf_open (&elf, loaded.path)) {
        module = module_read (&loaded, &elf);
        if (module)
            g_ptr_array_add (modules, module);
        elf_close (&elf);
    }
    if (module)
        module->there = true;
    return 0;
}

void
sites_find (GPtrArray *modules)
{
    for (guint i = 0; i < modules->len; i++)
        ((struct sites_module *) modules->pdata[i])->there = false;
    dl_iterate_phdr (site_look_at, modules);
    for (guint i = modules->len; i > 0; i--) {
        struct sites_module *module = modules->pdata[i - 1];

        if (!module->there) {
            g_ptr_array_remove_index (modules, i - 1);
            continue;
        }
        for (size_t j = 0; j < module->patch.count; j++) {
            module->patch.sites[j].stuck = false;
            patch_look (&module->patch.sites[j]);
        }
    }
}

#endif
