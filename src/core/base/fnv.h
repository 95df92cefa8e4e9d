/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hash FNV-1a. A hash begins with FNV32_START or FNV64_START, or with either and a number mixed
 * in; each call adds bytes to it. */
#ifndef WINDLASS_CORE_BASE_FNV_H
#define WINDLASS_CORE_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV32_START 2166136261u
#define FNV64_START 14695981039346656037u

static inline uint32_t
fnv32_byte (uint32_t hash, uint8_t byte)
{
    return (hash ^ byte) * 16777619u;
}

static inline uint32_t
fnv32 (uint32_t hash, const void *bytes, size_t size)
{
    for (const uint8_t *at = bytes, *end = at + size; at < end; at++)
        hash = fnv32_byte (hash, *at);
    return hash;
}

static inline uint64_t
fnv64 (uint64_t hash, const void *bytes, size_t size)
{
    for (const uint8_t *at = bytes, *end = at + size; at < end; at++)
        hash = (hash ^ *at) * 1099511628211u;
    return hash;
}

#endif
