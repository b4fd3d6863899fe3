// every_macro.h, in C++.
#include "every_macro.h"
