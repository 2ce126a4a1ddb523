// The list of packed types. To add one: a header beside this one, its include, and its line in
// RLX_PACKED_TYPES. Each header holds the block (kElements, Block) and how it unpacks, in ggml's
// order of operations, so that the values have ggml's bits. The order is that of
// main/quant/registry.ts: a plan names a type by its place.
#pragma once

#include "q4_0.h"
#include "q4_1.h"
#include "q5_0.h"
#include "q5_1.h"
#include "q8_0.h"
#include "q2_k.h"
#include "q3_k.h"
#include "q4_k.h"
#include "q5_k.h"
#include "q6_k.h"
#include "q8_k.h"
#include "iq4_nl.h"
#include "iq4_xs.h"
#include "mxfp4.h"
#include "tq2_0.h"
#include "iq1_s.h"
#include "iq1_m.h"
#include "iq2_xxs.h"
#include "iq2_xs.h"
#include "iq2_s.h"
#include "iq3_xxs.h"
#include "iq3_s.h"
#include "tq1_0.h"
#include "nvfp4.h"
#include "q1_0.h"
#include "q2_0.h"

#define RLX_PACKED_TYPES(X) \
  X(q4_0)                   \
  X(q4_1)                   \
  X(q5_0)                   \
  X(q5_1)                   \
  X(q8_0)                   \
  X(q2_k)                   \
  X(q3_k)                   \
  X(q4_k)                   \
  X(q5_k)                   \
  X(q6_k)                   \
  X(q8_k)                   \
  X(iq4_nl)                 \
  X(iq4_xs)                 \
  X(mxfp4)                  \
  X(tq2_0)                  \
  X(iq1_s)                  \
  X(iq1_m)                  \
  X(iq2_xxs)                \
  X(iq2_xs)                 \
  X(iq2_s)                  \
  X(iq3_xxs)                \
  X(iq3_s)                  \
  X(tq1_0)                  \
  X(nvfp4)                  \
  X(q1_0)                   \
  X(q2_0)

// Those of them whose values are a scale times a whole code (Coded in block.h). Beside `unpack`
// they have `read`, `kGroup` (values that share a scale) and `kLargest` (magnitude of a code).
#define RLX_CODED_TYPES(X) \
  X(q3_k)                  \
  X(q8_k)                  \
  X(iq4_nl)                \
  X(iq4_xs)                \
  X(mxfp4)                 \
  X(tq2_0)                 \
  X(iq1_s)                 \
  X(iq1_m)                 \
  X(iq2_xxs)               \
  X(iq2_xs)                \
  X(iq2_s)                 \
  X(iq3_xxs)               \
  X(iq3_s)                 \
  X(tq1_0)                 \
  X(nvfp4)                 \
  X(q1_0)                  \
  X(q2_0)

// Those of them with whole scales (scale_whole in block.h): they have `read_whole`.
#define RLX_WHOLE_TYPES(X) \
  X(q3_k)                  \
  X(iq1_m)                 \
  X(iq2_xs)                \
  X(iq2_s)
