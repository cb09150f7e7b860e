/* SPDX-License-Identifier: Apache-2.0 */
/* What RandAugment, TrivialAugmentWide, AutoAugment and AugMix choose from, as torchvision has it: which
 * operations, how strong they are at each of so many steps, and the policies that were found for three data
 * sets. */
#ifndef LEAT_OPS_AUGMENT_POLICY_H
#define LEAT_OPS_AUGMENT_POLICY_H

#include "image/colour/enhance.h"

typedef enum leat__augment_space {
    LEAT_AUGMENT_STANDARD, /* RandAugment and AutoAugment              */
    LEAT_AUGMENT_WIDE,     /* TrivialAugmentWide                       */
    LEAT_AUGMENT_MIX,      /* AugMix                                   */
} leat__augment_space;

/* How strong an operation is at step bin of n_bins > 1, for a picture of this size; 0 where there are no
 * degrees. */
double leat__augment_magnitude(leat__augment_space space, leat__enhance_op op, int bin, int n_bins,
                               int height, int width);
/* Whether there are degrees of it, and whether they go both ways. */
bool leat__augment_has_degrees(leat__enhance_op op);
bool leat__augment_is_signed(leat__enhance_op op);

#define LEAT_AUGMENT_BINS 10 /* AutoAugment's and AugMix's */

typedef struct leat__augment_choice { /* one half of a sub-policy                */
    uint8_t op;                       /* leat__enhance_op                        */
    uint8_t tenths;                   /* its chance                              */
    uint8_t bin;                      /* of LEAT_AUGMENT_BINS                    */
} leat__augment_choice;

typedef enum leat__augment_policy {
    LEAT_POLICY_IMAGENET,
    LEAT_POLICY_CIFAR10,
    LEAT_POLICY_SVHN,
} leat__augment_policy;

#define LEAT_AUGMENT_POLICIES 25 /* sub-policies of each */
/* The two halves of sub-policy i. */
const leat__augment_choice *leat__augment_pair(leat__augment_policy policy, int i);

#endif
