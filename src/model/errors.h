/* Which return values of a function are errors, when the configuration does not say; and the tables
 * of their names, row by row. */
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
	/* those with names, an int that is not 0: */
	FSC_ERRORS_CUDA,   /* cudaError_t */
	FSC_ERRORS_CU,	   /* CUresult */
	FSC_ERRORS_CUBLAS, /* cublasStatus_t */
	FSC_ERRORS_CUDNN,  /* cudnnStatus_t */
	FSC_ERRORS_NCCL,   /* ncclResult_t */
	FSC_ERRORS_MAX,
};

/* Which return values of a function are errors, by its name alone: those of CUDA, cuBLAS, cuDNN and
 * NCCL say it. Never any of the group "custom". */
enum fsc_error_rule fsc_error_rule_of(const char *group, const char *symbol);
/* The error's name as the library has it, NULL where it is not known. */
const char *fsc_error_name(enum fsc_error_rule rule, int64_t code);
/* Row i of a rule's table, in the order of codes; NULL behind the last one. */
const char *fsc_errors_row(enum fsc_error_rule rule, size_t i, int64_t *ret_code);
/* The words of the configuration for the rules, by enum fsc_error_rule; NULL-ended. */
extern const char *const fsc_error_rules[FSC_ERRORS_MAX + 1];

#endif
