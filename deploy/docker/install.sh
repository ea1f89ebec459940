#!/bin/sh
# install.sh PACKAGE...: installs packages into an image, and leaves nothing that only the hour and the machine of its build
# decide: what was downloaded, logs, a cache of inodes, questions with names of temporary files.
set -eu
apt-get update
apt-get install --yes --no-install-recommends "$@"
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig /var/cache/debconf/* /var/log/*
