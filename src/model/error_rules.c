/* Which return values are errors, by the function's name: libraries that return a status have a
 * common prefix. Functions that return something else are listed. */
#include "model/errors.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

const char *const fsc_error_rules[FSC_ERRORS_MAX + 1] = {
    [FSC_ERRORS_NONE] = "none",
    [FSC_ERRORS_NONZERO] = "nonzero",
    [FSC_ERRORS_NEGATIVE] = "negative",
    [FSC_ERRORS_NULL] = "null",
    [FSC_ERRORS_NOT_ONE] = "not_one",
    [FSC_ERRORS_CUDA] = "cuda",
    [FSC_ERRORS_CU] = "cu",
    [FSC_ERRORS_CUBLAS] = "cublas",
    [FSC_ERRORS_CUDNN] = "cudnn",
    [FSC_ERRORS_NCCL] = "nccl",
};

static const struct {
	const char *prefix;
	enum fsc_error_rule rule;
} prefixes[] = {
    {"cudnn", FSC_ERRORS_CUDNN}, {"cublas", FSC_ERRORS_CUBLAS},
    {"cuda", FSC_ERRORS_CUDA},	 {"__cudaLaunchKernel", FSC_ERRORS_CUDA},
    {"nccl", FSC_ERRORS_NCCL},	 {"pnccl", FSC_ERRORS_NCCL},
};

/* Functions with the prefix that return no status but nothing, a text, a version or a struct. */
static const char *const no_status[] = {
    "cudaGetErrorString",
    "cudaGetErrorName",
    "cudaCreateChannelDesc",
    "cublasGetStatusString",
    "cublasGetStatusName",
    "cublasGetCudartVersion",
    "cublasXerbla",
    "cublasLtGetStatusString",
    "cublasLtGetStatusName",
    "cublasLtGetVersion",
    "cublasLtGetCudartVersion",
    "cudnnGetVersion",
    "cudnnGetMaxDeviceVersion",
    "cudnnGetCudartVersion",
    "cudnnGetErrorString",
    "cudnnGetLastErrorString",
    "ncclGetErrorString",
    "ncclGetLastError",
    "ncclResetDebugInit",
    "ncclLLA2ACalcSlots",
    "ncclTeamWorld",
    "ncclTeamLsa",
    "ncclTeamRail",
    "ncclTeamRankToWorld",
    "ncclTeamRankToLsa",
};

/* The legacy interface of cuBLAS (cublasSgemm; programs built today call cublasSgemm_v2) returns
 * nothing, or a result: only lower-case letters follow the type's letter. */
static bool is_legacy_cublas(const char *s)
{
	static const char *const later[] = {"bdmm",  "dgmm",  "geam",  "gemm3m",  "herkx",
					    "syrkx", "tpttr", "trttp", "hutdown", "nit"};
	const char *p = s + strlen("cublas");

	if (!*p || !strchr("ISDCZ", *p) || !p[1])
		return false;
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (!strcmp(p + 1, later[i]))
			return false;
	for (p++; islower((unsigned char)*p) || isdigit((unsigned char)*p); p++)
		;
	return !*p;
}

enum fsc_error_rule fsc_error_rule_of(const char *group, const char *symbol)
{
	const char *plain = *symbol == 'p' && !strncmp(symbol, "pnccl", 5) ? symbol + 1 : symbol;

	if (!strcmp(group, "custom"))
		return FSC_ERRORS_NONE;
	for (size_t i = 0; i < sizeof(no_status) / sizeof(no_status[0]); i++)
		if (!strcmp(plain, no_status[i]))
			return FSC_ERRORS_NONE;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strncmp(symbol, prefixes[i].prefix, strlen(prefixes[i].prefix)) != 0)
			continue;
		if (prefixes[i].rule == FSC_ERRORS_CUBLAS && is_legacy_cublas(symbol))
			return FSC_ERRORS_NONE;
		return prefixes[i].rule;
	}
	if (!strncmp(symbol, "cu", 2) && isupper((unsigned char)symbol[2]))
		return FSC_ERRORS_CU;
	return FSC_ERRORS_NONE;
}
