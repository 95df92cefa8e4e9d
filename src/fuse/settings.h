/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bridge's options: what the rows of options.c store, and what their values mean. */
#ifndef WINDLASS_FUSE_SETTINGS_H
#define WINDLASS_FUSE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct bridge;

/* Whether the kernel may read and write files by itself, in the order of the option's values. */
enum passthrough_choice { PASSTHROUGH_AUTO, PASSTHROUGH_OFF, PASSTHROUGH_REQUIRED };

/* The decider about a caller's rights: the kernel, by modes and ACLs or by modes alone, or
 * system/posix-acl. */
enum decides { DECIDES_KERNEL, DECIDES_KERNEL_BY_MODE, DECIDES_TRANSLATOR };

/* Whether requests come through io_uring, in the order of the option's values. */
enum io_uring_mode { IO_URING_AUTO, IO_URING_OFF, IO_URING_REQUIRED };

/* Classes of operations, each with its own limit: threads/limits.h. */
enum limit_class { LIMIT_DATA, LIMIT_NAMES, LIMIT_SYNC, LIMIT_CLASSES };

struct bridge_settings {
    double attribute_timeout, entry_timeout, negative_timeout; /* seconds */
    int direct_io, keep_cache, passthrough_direct, lock_forwarding; /* enum option_switch */
    int acl;                                                        /* enum decides */
    int passthrough;                                                /* PASSTHROUGH_* */
    bool read_only, writeback, auto_invalidation, readdirp, idmapped, exclusive, follow_callers,
        passthrough_append, selinux, short_numbers;
    int64_t gid_timeout, stuck_after; /* nanoseconds */
    int limits[LIMIT_CLASSES]; /* 0: a number that depends on the processors */
    bool measure; /* used by src/daemon */
    int64_t lru_limit;
    uint64_t read_ahead; /* bytes */
    char *meta_dir_name; /* empty: no directory */
    int background_qlen, congestion_threshold, reader_threads, time_granularity;
    int io_uring, io_uring_depth, io_uring_haste; /* io_uring is an enum io_uring_mode */
    bool io_uring_pinned;
};

/* Stores the options in bridge->settings: "key=value" each, NULL at the end, or defaults. Returns
 * 0, or a negative errno and a message in *ret_error. */
int bridge_options_read (struct bridge *bridge, const char *const *options, char **ret_error);

/* --- rights.c: options for a mount on which the kernel checks no rights --- */

/* Has the kernel look up each name of a path again. Returns 0, or -EINVAL and the conflicting
 * option in *ret_error. */
int bridge_remember_no_names (struct bridge *bridge, char **ret_error);
/* For acl=translator: the kernel checks no rights and caches no names. Returns 0, or -EINVAL and
 * the problem in *ret_error. */
int bridge_leave_to_translator (struct bridge *bridge, bool default_permissions, char **ret_error);

#endif
