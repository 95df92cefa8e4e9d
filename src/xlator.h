/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All declarations for a translator. fops(7) has the rules, encryption/rot-13 is an example. Most
 * translators need only the first group. */
#ifndef WINDLASS_XLATOR_H
#define WINDLASS_XLATOR_H

/* The basics of every translator: its api, options, operations, requests. */
#include "core/base/log.h"
#include "core/edge/any-fop.h"
#include "core/edge/frame.h"
#include "core/edge/hidden.h"
#include "core/edge/invalidate.h"
#include "core/edge/option.h"
#include "core/edge/root.h"
#include "core/edge/server.h"
#include "core/edge/translator.h"
#include "core/table/fops.h"
#include "core/table/opset.h"

/* Values that operations carry. */
#include "core/base/errors.h"
#include "core/base/fnv.h"
#include "core/base/gfid.h"
#include "core/base/name.h"
#include "core/data/answer-vector.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/fd.h"
#include "core/data/file-system.h"
#include "core/data/iatt.h"
#include "core/data/inode.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"
#include "core/data/origin.h"

/* Calls of several steps, that continue later, or on another thread. */
#include "core/data/byte-claims.h"
#include "core/edge/fan-out.h"
#include "core/edge/pathinfo.h"
#include "core/edge/steps.h"
#include "core/edge/stub.h"
#include "core/edge/sync.h"
#include "core/edge/sync-lock.h"
#include "core/edge/sync-names.h"
#include "core/work/delayed.h"
#include "core/work/job.h"
#include "core/work/limit.h"
#include "core/work/pause.h"
#include "core/work/work.h"

/* Caches. */
#include "core/cache/cache-weight.h"
#include "core/cache/change-bracket.h"
#include "core/cache/change-views.h"
#include "core/cache/lru.h"
#include "core/cache/pages.h"

/* Inodes and names of their own below a translator; copies between two children. */
#include "core/realm/copy-between.h"
#include "core/realm/realm.h"

/* Rules: which requests a translator treats in a way of its own. */
#include "core/rules/rule-doubt.h"
#include "core/rules/rule-reader.h"
#include "core/rules/rules.h"

/* Tables that survive the process, in a file of a child. */
#include "core/store/store.h"

/* Logs of records, which go on over moves to other graphs. */
#include "core/records/record-log.h"

/* Time, threads and random numbers. Use these in place of the system's, so that a seed can
 * reproduce a run of a graph. */
#include "core/time/attempt.h"
#include "core/time/clock.h"
#include "core/time/random.h"
#include "core/time/seeded-chance.h"
#include "core/time/thread.h"
#include "core/time/ticks.h"
#include "core/time/timer.h"

/* Reports and utilities. */
#include "core/base/histogram.h"
#include "core/base/json.h"
#include "core/base/log-journal.h"
#include "core/base/printable.h"
#include "core/base/process-mark.h"
#include "core/base/process.h"
#include "core/base/replaceable.h"
#include "core/base/rundir.h"
#include "core/base/suggest.h"

#endif
