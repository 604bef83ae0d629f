/* Template text becomes a Lua chunk, line by line. */
#ifndef LAMPAR_TEMPLATE_H
#define LAMPAR_TEMPLATE_H

#include <stddef.h>

#include "lampar/lampar.h"

/* In a template, a line whose first character is `$` is Lua and leaves nothing behind, ${expr} in
 * any other line is its value, $$ is a dollar, $-- is a remark. The body of a block is indented,
 * and loses that indentation. `$part "x"` inserts another template, `$emit(step)` a text that is
 * there already.
 *
 * Line n of the chunk is line n of the template. The chunk is called with three functions
 *   line(line, literal [, value, expression, literal] ...)   one line of output
 *   part(indent)(name [, argument])                          a part, indented
 *   emit(indent)(block)                                      lines of a block, indented
 * and with what `$part(name, argument)` gave, which it knows as `argument`.
 * `name` is what messages call the template. The caller frees `chunk`. Errors: ARGUMENT (the
 * message starts with name:line), SYSTEM. */
lampar_status lampar_template_compile(const char *name, const char *text, size_t size, char **chunk,
                                      size_t *chunk_size);

#endif
