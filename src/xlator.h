/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that a translator sees. */
#ifndef WINDLASS_XLATOR_H
#define WINDLASS_XLATOR_H

#include "core/chance.h"
#include "core/clock.h"
#include "core/dict.h"
#include "core/dirent.h"
#include "core/errors.h"
#include "core/fd.h"
#include "core/fops.h"
#include "core/frame.h"
#include "core/gfid.h"
#include "core/held.h"
#include "core/histogram.h"
#include "core/iatt.h"
#include "core/inode.h"
#include "core/invalidate.h"
#include "core/iobuf.h"
#include "core/json.h"
#include "core/loc.h"
#include "core/log.h"
#include "core/lru.h"
#include "core/opset.h"
#include "core/option.h"
#include "core/priority.h"
#include "core/random.h"
#include "core/rundir.h"
#include "core/shared.h"
#include "core/stub.h"
#include "core/sync.h"
#include "core/suggest.h"
#include "core/thread.h"
#include "core/ticks.h"
#include "core/timer.h"
#include "core/translator.h"

#endif
