/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/build-kind.h"

/* gcc has a macro for each sanitizer, clang a question. */
#ifndef __has_feature
#define __has_feature(what) 0
#endif

#ifdef __OPTIMIZE__
#define OPTIMIZED "optimized"
#else
#define OPTIMIZED "not optimized (-O0)"
#endif

#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define SANITIZED ", with the address sanitizer: finds errors, and is ten times slower"
#elif defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#define SANITIZED ", with the thread sanitizer: finds errors, and is several times slower"
#else
#define SANITIZED ", without sanitizers"
#endif

const char *
build_kind (void)
{
    return OPTIMIZED SANITIZED;
}
