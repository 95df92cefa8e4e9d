# SPDX-License-Identifier: LGPL-2.1-or-later
# Examples, one for each translator and one with all. tests/mount/mounting/volfiles.sh mounts every
# *.vol here.

volfilesdir = $(pkgdatadir)/volfiles
dist_volfiles_DATA = \
    %D%/audit.vol \
    %D%/client-stack.vol \
    %D%/client.vol \
    %D%/delay-gen.vol \
    %D%/distribute.vol \
    %D%/error-gen.vol \
    %D%/fault.vol \
    %D%/full-stack.vol \
    %D%/io-cache.vol \
    %D%/io-stats.vol \
    %D%/meta.vol \
    %D%/md-cache.vol \
    %D%/nl-cache.vol \
    %D%/open-behind.vol \
    %D%/io-threads.vol \
    %D%/posix.vol \
    %D%/posix-acl.vol \
    %D%/power-cut.vol \
    %D%/read-ahead.vol \
    %D%/read-only.vol \
    %D%/replicate.vol \
    %D%/quick-read.vol \
    %D%/readdir-ahead.vol \
    %D%/rot-13.vol \
    %D%/overlay.vol \
    %D%/subdirectory.vol \
    %D%/trace.vol \
    %D%/trash.vol \
    %D%/utime.vol \
    %D%/write-behind.vol

# Presets of `windlass run` and `windlass new`: src/cli/run/run.h has their syntax. A new file here is
# a new preset.
presetsdir = $(pkgdatadir)/presets
dist_presets_DATA = \
    %D%/presets/acl.vol \
    %D%/presets/audit.vol \
    %D%/presets/brick.vol \
    %D%/presets/cached.vol \
    %D%/presets/faulty.vol \
    %D%/presets/overlay-audit.vol \
    %D%/presets/overlay.vol \
    %D%/presets/plain.vol \
    %D%/presets/read-only.vol \
    %D%/presets/rot-13.vol \
    %D%/presets/slow.vol \
    %D%/presets/trash.vol
