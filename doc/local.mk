# SPDX-License-Identifier: LGPL-2.1-or-later
# Documents, and the site that `make html` makes of them and of the manuals: html/ in the build
# tree. Each document of the folder has a line here; %D%/site/content.py has their order.

doc_pages = \
    %D%/bridge.md \
    %D%/cluster.md \
    %D%/comparison.md \
    %D%/debugging.md \
    %D%/figures.md \
    %D%/figures-bricks.md \
    %D%/install.md \
    %D%/overlay.md \
    %D%/quickstart-faults.md \
    %D%/quickstart-gluster.md \
    %D%/quickstart-live.md \
    %D%/quickstart-run.md \
    %D%/quickstart-slow.md \
    %D%/quickstart-translator.md \
    %D%/quickstart-trash.md \
    %D%/security.md \
    %D%/why-busy.md \
    %D%/why-errors.md \
    %D%/why-slow.md
doc_pictures = \
    %D%/pictures/flame.svg \
    %D%/pictures/graph.svg \
    %D%/pictures/histogram.svg \
    %D%/pictures/timeline.svg
site_sources = \
    %D%/site/build.py \
    %D%/site/content.py \
    %D%/site/document.py \
    %D%/site/manual.py \
    %D%/site/page.py \
    %D%/site/frame.html \
    %D%/site/home.html \
    %D%/site/mark.svg \
    %D%/site/search.js \
    %D%/site/style.css

dist_doc_DATA = README NEWS COPYING $(doc_pages)

# PYTHONDONTWRITEBYTECODE: the sources may be another's, and are left as they are.
html-local: html/made
html/made: $(man_MANS) $(doc_pages) $(doc_pictures) $(site_sources)
	$(AM_V_GEN)rm -rf html && PYTHONDONTWRITEBYTECODE=1 python3 $(srcdir)/%D%/site/build.py \
	    --version '$(PACKAGE_VERSION)' --source $(srcdir)/%D% --out html $(man_MANS) && touch $@

# Draws them anew, from a mount. They are in the tree, so that html is made without /dev/fuse.
pictures: src/windlass$(EXEEXT)
	python3 $(srcdir)/%D%/pictures/draw.py ./windlass $(srcdir)/%D%/pictures
.PHONY: pictures

install-html-local: html/made
	$(MKDIR_P) '$(DESTDIR)$(htmldir)/pictures'
	cd html && for file in *.html *.css *.js *.svg; do \
	    $(INSTALL_DATA) "$$file" '$(DESTDIR)$(htmldir)/' || exit 1; done
	cd html/pictures && for file in *.svg; do \
	    $(INSTALL_DATA) "$$file" '$(DESTDIR)$(htmldir)/pictures/' || exit 1; done

# What this tree made, and so may have installed.
uninstall-local:
	test ! -d html || (cd html && find . -type f) | while read -r file; do \
	    rm -f '$(DESTDIR)$(htmldir)'/"$$file"; done
	test ! -d '$(DESTDIR)$(htmldir)' || find '$(DESTDIR)$(htmldir)' -depth -type d -empty -delete

clean-local:
	rm -rf html
