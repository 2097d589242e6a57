"""The imports that solutions to programming problems take for granted, as LiveCodeBench's runner makes them (standard library only)."""
# ruff: noqa: F401, F403, I001, UP029
# mypy: ignore-errors

import bisect
import collections
import copy
import datetime
import functools
import heapq
import io
import itertools
import json
import math
import operator
import random
import re
import statistics
import string
import sys
import typing
from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
from typing import *
from builtins import *  # what the modules above have names in common with (pow, abs, …) is the builtin again
