#include "template/template.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { DEPTH_MAX = 32, UNKNOWN = -1 };

/* An open block: `$for`, `$if` ... */
typedef struct block {
  int line;
  int indent; /* of its first line */
  int body;   /* of what is inside, UNKNOWN until the first line of it */
} block;

typedef struct compiler {
  const char *name;
  FILE *out;
  int line;
  block blocks[DEPTH_MAX];
  int depth;
} compiler;

/* A piece of the template's text. */
typedef struct span {
  const char *at;
  const char *end;
} span;

__attribute__((format(printf, 2, 3))) static lampar_status refuse(const compiler *c,
                                                                  const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s:%d: %s", c->name, c->line, text);
}

/* ---- Lua in pieces ---- */

/* Behind the string or the long bracket that begins at `at`; NULL: it does not end on this line. */
static const char *skip_string(const char *at, const char *end) {
  if (*at == '[') {
    for (at += 2; at + 1 < end; ++at)
      if (at[0] == ']' && at[1] == ']') return at + 2;
    return NULL;
  }
  const char quote = *at;
  for (++at; at < end; ++at) {
    if (*at == '\\') ++at;
    else if (*at == quote) return at + 1;
  }
  return NULL;
}

static bool begins_string(const char *at, const char *end) {
  return *at == '"' || *at == '\'' || (*at == '[' && at + 1 < end && at[1] == '[');
}

static bool is_word(span word, const char *text) {
  const size_t length = (size_t)(word.end - word.at);
  return strlen(text) == length && strncmp(word.at, text, length) == 0;
}

static span word_at(const char *at, const char *end) {
  span word = {at, at};
  while (word.end < end && (isalnum((unsigned char)*word.end) || *word.end == '_')) ++word.end;
  return word;
}

/* Blocks that a statement line opens, less those that it closes. */
static lampar_status count_blocks(const compiler *c, span statement, int *balance) {
  static const char *const opening[] = {"if", "do", "function", "repeat"};
  static const char *const closing[] = {"end", "until"};
  *balance = 0;
  for (const char *at = statement.at; at < statement.end;) {
    if (begins_string(at, statement.end)) {
      at = skip_string(at, statement.end);
      if (at == NULL) return refuse(c, "a string has to end on its line");
      continue;
    }
    if (at + 1 < statement.end && at[0] == '-' && at[1] == '-') return LAMPAR_OK;
    const span word = word_at(at, statement.end);
    for (size_t i = 0; i < sizeof opening / sizeof opening[0]; ++i)
      *balance += is_word(word, opening[i]);
    for (size_t i = 0; i < sizeof closing / sizeof closing[0]; ++i)
      *balance -= is_word(word, closing[i]);
    at = word.end > at ? word.end : at + 1;
  }
  return LAMPAR_OK;
}

/* ---- indentation ---- */

/* Checks the indentation of a line inside of the open blocks; the first line of a body fixes it. */
static lampar_status place_line(compiler *c, int indent) {
  if (c->depth == 0) return LAMPAR_OK;
  block *inner = &c->blocks[c->depth - 1];
  if (inner->body == UNKNOWN && indent > inner->indent) inner->body = indent;
  if (inner->body != UNKNOWN && indent >= inner->body) return LAMPAR_OK;
  return refuse(c, "indented by %d, less than the body of the block of line %d", indent,
                inner->line);
}

/* Columns that the open blocks take away. */
static int removed(const compiler *c) {
  int columns = 0;
  for (int i = 0; i < c->depth; ++i)
    if (c->blocks[i].body != UNKNOWN) columns += c->blocks[i].body - c->blocks[i].indent;
  return columns;
}

static lampar_status open_block(compiler *c, int indent) {
  if (c->depth == DEPTH_MAX) return refuse(c, "more than %d blocks in each other", DEPTH_MAX);
  c->blocks[c->depth++] = (block){c->line, indent, UNKNOWN};
  return LAMPAR_OK;
}

static lampar_status close_block(compiler *c, int indent, span word) {
  if (c->depth == 0) return refuse(c, "$%.*s closes no block", (int)(word.end - word.at), word.at);
  const block *inner = &c->blocks[--c->depth];
  if (indent == inner->indent) return LAMPAR_OK;
  return refuse(c, "$%.*s is indented by %d, the block of line %d by %d", (int)(word.end - word.at),
                word.at, indent, inner->line, inner->indent);
}

/* ---- lines ---- */

static lampar_status compile_statement(compiler *c, int indent, span statement) {
  while (statement.at < statement.end && isspace((unsigned char)*statement.at)) ++statement.at;
  const span word = word_at(statement.at, statement.end);
  int balance;
  LAMPAR_TRY(count_blocks(c, statement, &balance));
  if (balance < -1 || balance > 1) return refuse(c, "opens or closes more than one block");

  const bool turns = is_word(word, "else") || is_word(word, "elseif");
  if (turns || balance < 0) LAMPAR_TRY(close_block(c, indent, word));
  else LAMPAR_TRY(place_line(c, indent));

  if (is_word(word, "part") || is_word(word, "emit"))
    fprintf(c->out, "_%.4s(%d)%.*s", word.at, indent - removed(c), (int)(statement.end - word.end),
            word.end);
  else fprintf(c->out, "%.*s", (int)(statement.end - statement.at), statement.at);
  return balance > 0 || (turns && balance == 0) ? open_block(c, indent) : LAMPAR_OK;
}

static void write_quoted(FILE *out, span text) {
  fputc('"', out);
  for (; text.at < text.end; ++text.at) {
    const unsigned char character = (unsigned char)*text.at;
    if (character == '"' || character == '\\') fprintf(out, "\\%c", character);
    else if (character < ' ') fprintf(out, "\\%03d", character);
    else fputc(character, out);
  }
  fputc('"', out);
}

/* The `}` that belongs to a `${` whose expression starts at `at`. */
static const char *find_brace(const char *at, const char *end) {
  for (int depth = 0; at != NULL && at < end;) {
    if (begins_string(at, end)) {
      at = skip_string(at, end);
      continue;
    }
    if (*at == '}' && depth-- == 0) return at;
    depth += *at == '{';
    ++at;
  }
  return NULL;
}

/* Literal pieces are written as they come: the text before a `$$`, the dollar, the text behind it.
 */
static lampar_status compile_text(compiler *c, int indent, span text) {
  LAMPAR_TRY(place_line(c, indent));
  fprintf(c->out, "_line(%d, ", c->line);
  text.at += removed(c);
  for (;;) {
    const char *dollar = memchr(text.at, '$', (size_t)(text.end - text.at));
    write_quoted(c->out, (span){text.at, dollar != NULL ? dollar : text.end});
    if (dollar == NULL) break;
    const char next = dollar + 1 < text.end ? dollar[1] : '\0';
    if (next == '$') {
      fputs(" .. \"$\" .. ", c->out);
      text.at = dollar + 2;
    } else if (next == '{') {
      const span expression = {dollar + 2, find_brace(dollar + 2, text.end)};
      if (expression.end == NULL) return refuse(c, "${ is not closed on its line");
      const int length = (int)(expression.end - expression.at);
      fprintf(c->out, ", (%.*s), ", length, expression.at);
      write_quoted(c->out, expression);
      fputs(", ", c->out);
      text.at = expression.end + 1;
    } else {
      return refuse(c, "a single $ in a line of text; write $$ for a dollar, ${...} for a value");
    }
  }
  fputc(')', c->out);
  return LAMPAR_OK;
}

static lampar_status compile_line(compiler *c, span text) {
  const char *first = text.at;
  while (first < text.end && *first == ' ') ++first;
  const int indent = (int)(first - text.at);
  if (first < text.end && isspace((unsigned char)text.end[-1]))
    return refuse(c, "blanks at the end of the line");
  if (first < text.end && *first == '\t') return refuse(c, "a tab at the start of the line");
  if (first == text.end) {
    fprintf(c->out, "_line(%d, \"\")", c->line);
    return LAMPAR_OK;
  }
  const char next = first + 1 < text.end ? first[1] : '\0';
  if (*first != '$' || next == '$' || next == '{') return compile_text(c, indent, text);
  const span statement = {first + 1, text.end};
  if (statement.end - statement.at >= 2 && strncmp(statement.at, "--", 2) == 0) return LAMPAR_OK;
  return compile_statement(c, indent, statement);
}

lampar_status lampar_template_compile(const char *name, const char *text, size_t size, char **chunk,
                                      size_t *chunk_size) {
  char *bytes = NULL;
  compiler c = {.name = name, .out = open_memstream(&bytes, chunk_size)};
  if (c.out == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", name);
  lampar_status status = LAMPAR_OK;
  fputs("local _line, _part, _emit, argument = ... ", c.out);
  for (const char *at = text, *end = text + size; status == LAMPAR_OK && at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    ++c.line;
    status = compile_line(&c, (span){at, newline != NULL ? newline : end});
    fputc('\n', c.out);
    at = newline != NULL ? newline + 1 : end;
  }
  if (status == LAMPAR_OK && c.depth > 0) {
    c.line = c.blocks[c.depth - 1].line;
    status = refuse(&c, "the block that begins here is not closed");
  }
  if (fclose(c.out) != 0 && status == LAMPAR_OK)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", name);
  if (status == LAMPAR_OK) *chunk = bytes;
  else free(bytes);
  return status;
}
