# SPDX-License-Identifier: LGPL-2.1-or-later
dist_bashcompletion_DATA = %D%/windlass
dist_zshcompletion_DATA = %D%/_windlass
dist_fishcompletion_DATA = %D%/windlass.fish
