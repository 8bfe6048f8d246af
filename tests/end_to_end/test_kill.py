"""Runs killed at any moment: no verdict was ever shown that the ledger does not hold.

Run as a program this file is the server that the tests talk to: it has loaded everything, and
forks a child that runs the real command line for each trial, so that a trial is a tenth of a
second.
"""

import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, Literal

import pytest

import pqd.auditor
import pqd.cli.progress
from pqd.accounts import Reservation
from pqd.asking import UNKNOWN
