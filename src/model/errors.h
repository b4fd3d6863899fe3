/* Which return values of a function are errors, unless the configuration says, and the names of
 * error codes. */
#ifndef FSC_MODEL_ERRORS_H
#define FSC_MODEL_ERRORS_H

#include <stddef.h>
#include <stdint.h>

/* Which return values are errors. */
enum fsc_error_rule {
	FSC_ERRORS_NONE,
	FSC_ERRORS_NONZERO,  /* an int that is not 0 */
	FSC_ERRORS_NEGATIVE, /* an int below 0 */
	FSC_ERRORS_NULL,     /* a null pointer */
	FSC_ERRORS_NOT_ONE,  /* an int that is not 1: OpenSSL */
	/* with named codes, an int that is not 0: */
	FSC_ERRORS_CUDA,   /* cudaError_t */
	FSC_ERRORS_CU,	   /* CUresult */
	FSC_ERRORS_CUBLAS, /* cublasStatus_t */
	FSC_ERRORS_CUDNN,  /* cudnnStatus_t */
	FSC_ERRORS_NCCL,   /* ncclResult_t */
	FSC_ERRORS_MAX,
};

/* By the function's name alone, for CUDA, cuBLAS, cuDNN and NCCL. FSC_ERRORS_NONE for the group
 * "custom". */
enum fsc_error_rule fsc_error_rule_of(const char *group, const char *symbol);
/* The library's name of the error; NULL: unknown. */
const char *fsc_error_name(enum fsc_error_rule rule, int64_t code);
/* Row i of a rule's table, in order of codes; NULL after the last. */
const char *fsc_errors_row(enum fsc_error_rule rule, size_t i, int64_t *ret_code);
/* The rules' names in the configuration; NULL-terminated. */
extern const char *const fsc_error_rules[FSC_ERRORS_MAX + 1];

#endif
