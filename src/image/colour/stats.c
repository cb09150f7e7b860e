/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring in plain C: the specification. */
#include "image/dsp.h"

#include "base/maths.h"

void leat__stats_begin(leat__stats *stats, unsigned flags) {
    memset(stats, 0, offsetof(leat__stats, histogram));
    stats->flags = flags;
    stats->bytes = false;
    memset(stats->lane, 0, sizeof stats->lane);
    memset(stats->lane2, 0, sizeof stats->lane2);
    for (int i = 0; i < LEAT_STATS_LANES; i++)
        stats->low[i] = __builtin_inff(), stats->high[i] = -__builtin_inff();
    memset(stats->low8, 255, sizeof stats->low8);
    memset(stats->high8, 0, sizeof stats->high8);
    if (flags & LEAT_STATS_HISTOGRAM) {
        memset(stats->histogram, 0, sizeof stats->histogram);
        memset(stats->odd, 0, sizeof stats->odd);
    }
}

void leat__stats_end(leat__stats *stats) {
    const int apart = leat__stats_apart(stats->channels);
    for (int c = 0; c < 4; c++) {
        stats->min[c] = __builtin_inff();
        stats->max[c] = -__builtin_inff();
    }
    if (apart == 0) return; /* no row came */
    for (int i = 0; i < LEAT_STATS_LANES; i++) {
        const int c = i % apart;
        stats->sum[c] += stats->lane[i];
        stats->sum2[c] += stats->lane2[i];
        stats->min[c] = stats->low[i] < stats->min[c] ? stats->low[i] : stats->min[c];
        stats->max[c] = stats->high[i] > stats->max[c] ? stats->high[i] : stats->max[c];
    }
    if (stats->bytes && (stats->flags & LEAT_STATS_RANGE))
        for (int i = 0; i < LEAT_STATS_BYTE_LANES; i++) {
            const int c = i % apart;
            stats->min[c] = LEAT_MIN(stats->min[c], (float)stats->low8[i]);
            stats->max[c] = LEAT_MAX(stats->max[c], (float)stats->high8[i]);
        }
    if (!(stats->flags & LEAT_STATS_HISTOGRAM)) return;
    for (int c = 0; c < 4; c++)
        for (int v = 0; v < 256; v++) {
            stats->histogram[c][v] += stats->odd[c][v];
            if (apart == 1 && c > 0) stats->histogram[0][v] += stats->histogram[c][v];
        }
}

double leat__stats_mean(const leat__stats *stats, int channel) {
    if (channel >= 0) return stats->sum[channel] / (double)stats->count;
    const int apart = leat__stats_apart(stats->channels);
    double sum = 0;
    for (int c = 0; c < apart; c++) sum += stats->sum[c];
    return sum / ((double)stats->count * apart);
}

double leat__stats_deviation(const leat__stats *stats, int channel) {
    const int apart = leat__stats_apart(stats->channels);
    const double mean = leat__stats_mean(stats, channel);
    double squares = 0, n = (double)stats->count;
    if (channel >= 0) squares = stats->sum2[channel];
    else
        for (int c = 0; c < apart; c++) squares += stats->sum2[c];
    if (channel < 0) n *= apart;
    const double variance = squares / n - mean * mean;
    return variance > 0 ? leat__sqrt(variance) : variance != variance ? variance : 0;
}

void leat__stats_range(const leat__stats *stats, float *min, float *max) {
    *min = stats->min[0];
    *max = stats->max[0];
    for (int c = 1; c < leat__stats_apart(stats->channels); c++) {
        *min = LEAT_MIN(*min, stats->min[c]);
        *max = LEAT_MAX(*max, stats->max[c]);
    }
}

/* ------------------------------------------------------------------------------------------- kernels */

/* A single channel is spread over all eight tables, and leat__stats_end adds them up. */
void leat__stats_histogram(leat__stats *stats, const uint8_t *row, size_t n_pixels, int channels) {
    uint32_t(*even)[256] = stats->histogram, (*odd)[256] = stats->odd;
    size_t i = 0;
    if (leat__stats_apart(channels) == 1) {
        const size_t n = n_pixels * (size_t)channels;
        for (; i + 8 <= n; i += 8) {
            even[0][row[i]]++, odd[0][row[i + 1]]++;
            even[1][row[i + 2]]++, odd[1][row[i + 3]]++;
            even[2][row[i + 4]]++, odd[2][row[i + 5]]++;
            even[3][row[i + 6]]++, odd[3][row[i + 7]]++;
        }
        for (; i < n; i++) even[0][row[i]]++;
        return;
    }
    if (channels == 3)
        for (; i + 2 <= n_pixels; i += 2, row += 6) {
            even[0][row[0]]++, even[1][row[1]]++, even[2][row[2]]++;
            odd[0][row[3]]++, odd[1][row[4]]++, odd[2][row[5]]++;
        }
    for (; i < n_pixels; i++, row += channels)
        for (int c = 0; c < channels; c++) (i & 1 ? odd : even)[c][row[c]]++;
}

uint64_t leat__stats_gray(const uint8_t *row, size_t n_pixels, int channels) {
    uint64_t gray = 0;
    if (channels < 3)
        for (size_t i = 0; i < n_pixels; i++) gray += row[i * (size_t)channels];
    else
        for (size_t i = 0; i < n_pixels; i++) gray += leat__pil_gray(row + i * (size_t)channels);
    return gray;
}

static LEAT_FN_STATS_U8(stats_u8_c) {
    const int apart = leat__stats_apart(channels);
    const size_t n = n_pixels * (size_t)channels / (size_t)apart;
    uint64_t sum[4] = {0}, sum2[4] = {0};
    stats->bytes = true;
    stats->channels = channels;
    stats->count += n;
    if (stats->flags & (LEAT_STATS_SUM | LEAT_STATS_SQUARES))
        for (int c = 0; c < apart; c++) {
            for (size_t i = 0; i < n; i++) {
                const uint32_t x = row[i * (size_t)apart + (size_t)c];
                sum[c] += x;
                sum2[c] += x * x;
            }
            stats->sum[c] += (double)sum[c];
            if (stats->flags & LEAT_STATS_SQUARES) stats->sum2[c] += (double)sum2[c];
        }
    if (stats->flags & LEAT_STATS_RANGE)
        for (int c = 0; c < apart; c++) {
            uint8_t low = stats->low8[c], high = stats->high8[c];
            for (size_t i = 0; i < n; i++) {
                const uint8_t x = row[i * (size_t)apart + (size_t)c];
                low = LEAT_MIN(low, x);
                high = LEAT_MAX(high, x);
            }
            stats->low8[c] = low;
            stats->high8[c] = high;
        }
    if (stats->flags & LEAT_STATS_HISTOGRAM) leat__stats_histogram(stats, row, n_pixels, channels);
    if (stats->flags & LEAT_STATS_GRAY) stats->gray += (double)leat__stats_gray(row, n_pixels, channels);
}

static LEAT_FN_STATS_F32(stats_f32_c) {
    const size_t n = n_pixels * (size_t)channels;
    stats->channels = channels;
    stats->count += n / (size_t)leat__stats_apart(channels);
    for (size_t base = 0; base < n; base += LEAT_STATS_LANES) {
        const size_t m = LEAT_MIN(n - base, (size_t)LEAT_STATS_LANES);
        if (stats->flags & (LEAT_STATS_SUM | LEAT_STATS_SQUARES))
            for (size_t k = 0; k < m; k++) stats->lane[k] += (double)row[base + k];
        if (stats->flags & LEAT_STATS_SQUARES)
            for (size_t k = 0; k < m; k++) {
                const double x = row[base + k];
                stats->lane2[k] += x * x;
            }
        if (stats->flags & LEAT_STATS_RANGE)
            for (size_t k = 0; k < m; k++) {
                const float x = row[base + k];
                stats->low[k] = x < stats->low[k] ? x : stats->low[k];
                stats->high[k] = x > stats->high[k] ? x : stats->high[k];
            }
    }
}

void leat__image_dsp_init_stats_c(leat__image_dsp *dsp) {
    dsp->stats_u8 = stats_u8_c;
    dsp->stats_f32 = stats_f32_c;
}
