/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small set of named values, in the order in which they were set: xdata, and extended attributes.
 * A value is a string of bytes, and remembers whether it was set as bytes, as text or as a number:
 * a server of GlusterFS wants to know. There is no lock: the creator fills a dict before other code
 * sees it, and code that was lent a dict must not change it (dict_copy it).
 */
#ifndef WINDLASS_CORE_DATA_DICT_H
#define WINDLASS_CORE_DATA_DICT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct dict dict_t;

enum dict_type { DICT_BYTES, DICT_TEXT, DICT_NUMBER };

dict_t *dict_new (void);
dict_t *dict_ref (dict_t *dict);   /* takes NULL */
void dict_unref (dict_t *dict);    /* takes NULL */
dict_t *dict_copy (const dict_t *dict);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (dict_t, dict_unref)

/* Sets key to a copy of the bytes, and replaces an older value. A NUL is stored after the value and
 * not counted in its size. */
void dict_set (dict_t *dict, const char *key, const void *value, size_t size);
/* The value includes the text's NUL, which its size doesn't count. */
void dict_set_str (dict_t *dict, const char *key, const char *value);
void dict_set_u64 (dict_t *dict, const char *key, uint64_t value);

/* Return the value and its size, or NULL. dict may be NULL. The value is valid until the key is set
 * again. */
const void *dict_get (const dict_t *dict, const char *key, size_t *ret_size);
const char *dict_get_str (const dict_t *dict, const char *key);
bool dict_get_u64 (const dict_t *dict, const char *key, uint64_t *ret_value);
bool dict_has (const dict_t *dict, const char *key);
void dict_del (dict_t *dict, const char *key);

/* Have both the same keys with the same bytes, in any order? Both take NULL, which is as empty. */
bool dict_equal (const dict_t *a, const dict_t *b);

size_t dict_count (const dict_t *dict); /* takes NULL */

/* Returns the i-th pair, for i below dict_count. */
void dict_nth (const dict_t *dict, size_t i, const char **ret_key, const void **ret_value,
               size_t *ret_size);
enum dict_type dict_nth_type (const dict_t *dict, size_t i);

/* xdata of an opendir and its readdirp by a translator that lists a directory ahead of lookups: it
 * reads one piece with each fd. */
#define XDATA_LOOKS_AHEAD "windlass.looks-ahead"

/* xdata of an fsync or fsyncdir: storage syncs the whole file system, where one sync stands for one
 * of each file. The answer has it, too, if that was done. */
#define XDATA_SYNC_ALL "windlass.sync-all"

/* xdata of an answer to a lookup, by a translator that keeps several copies of which none may be
 * read. NO_GOOD_DATA: nothing is known of the content. NO_GOOD_METADATA: nothing is known of the
 * extended attributes, so one that was requested and is not in the answer may exist, and owner and
 * mode are those of any copy. */
#define XDATA_NO_GOOD_DATA "windlass.no-good-data"
#define XDATA_NO_GOOD_METADATA "windlass.no-good-metadata"

#endif
