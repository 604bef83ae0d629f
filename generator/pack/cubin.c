/* A cubin is an ELF file. The section .nv.info holds attributes of its functions: a byte of format,
 * a byte of attribute, two bytes that are the value or, in format 4, the length of a value that
 * follows. */
#include "pack/cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__aarch64__)
enum { MACHINE_HOST = EM_AARCH64 };
#else
enum { MACHINE_HOST = EM_X86_64 };
#endif

enum {
  MACHINE_CUDA = 190,
  FORMAT_SIZED = 4,
  ATTRIBUTE_FRAME_SIZE = 0x11,
  ATTRIBUTE_REGISTERS = 0x2f,
  RESERVED_SHARED_BYTES = 1024, /* of each block, for the system, from sm_90 on */
};

typedef struct elf_view {
  const unsigned char *bytes;
  size_t size;
  Elf64_Ehdr header;
} elf_view;

static bool fits(const elf_view *elf, uint64_t offset, uint64_t size) {
  return offset <= elf->size && size <= elf->size - offset;
}

/* Copies, because the file may be unaligned. */
static bool copy(const elf_view *elf, uint64_t offset, void *to, size_t size) {
  if (!fits(elf, offset, size)) return false;
  memcpy(to, elf->bytes + offset, size);
  return true;
}

static bool section_at(const elf_view *elf, uint32_t index, Elf64_Shdr *section) {
  return index < elf->header.e_shnum &&
         copy(elf, elf->header.e_shoff + (uint64_t)index * sizeof *section, section,
              sizeof *section);
}

/* A complete string of a string section, or "". */
static const char *string_at(const elf_view *elf, const Elf64_Shdr *strings, uint32_t offset) {
  if (strings->sh_type != SHT_STRTAB || !fits(elf, strings->sh_offset, strings->sh_size)) return "";
  if (offset >= strings->sh_size) return "";
  const char *text = (const char *)elf->bytes + strings->sh_offset + offset;
  return memchr(text, '\0', strings->sh_size - offset) != NULL ? text : "";
}

static bool section_named(const elf_view *elf, const char *name, Elf64_Shdr *section) {
  Elf64_Shdr names;
  if (!section_at(elf, elf->header.e_shstrndx, &names)) return false;
  for (uint32_t i = 0; section_at(elf, i, section); ++i)
    if (strcmp(string_at(elf, &names, section->sh_name), name) == 0) return true;
  return false;
}

/* The kernel's index in the symbol table; 0 if it is missing. */
static uint32_t symbol_of(const elf_view *elf, const char *table, const char *kernel) {
  Elf64_Shdr symbols, strings;
  if (!section_named(elf, table, &symbols) || !section_at(elf, symbols.sh_link, &strings)) return 0;
  const uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
  Elf64_Sym symbol;
  for (uint32_t i = 1; i < count; ++i) {
    if (!copy(elf, symbols.sh_offset + (uint64_t)i * sizeof symbol, &symbol, sizeof symbol))
      return 0;
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
        strcmp(string_at(elf, &strings, symbol.st_name), kernel) == 0)
      return i;
  }
  return 0;
}

/* The value of a function's attribute in .nv.info. */
static bool attribute_of(const elf_view *elf, const Elf64_Shdr *info, unsigned attribute,
                         uint32_t symbol, uint32_t *value) {
  if (!fits(elf, info->sh_offset, info->sh_size)) return false;
  const uint64_t end = info->sh_offset + info->sh_size;
  uint64_t at = info->sh_offset;
  while (end - at >= 4) {
    const unsigned format = elf->bytes[at], kind = elf->bytes[at + 1];
    uint16_t length = 0;
    if (format == FORMAT_SIZED) memcpy(&length, elf->bytes + at + 2, sizeof length);
    at += 4;
    if (length > end - at) return false;
    uint32_t pair[2];
    if (format == FORMAT_SIZED && kind == attribute && length == sizeof pair) {
      memcpy(pair, elf->bytes + at, sizeof pair);
      if (pair[0] == symbol) {
        *value = pair[1];
        return true;
      }
    }
    at += length;
  }
  return false;
}

static uint32_t shared_bytes_of(const elf_view *elf, const char *kernel) {
  char name[256];
  Elf64_Shdr shared, reserved;
  snprintf(name, sizeof name, ".nv.shared.%s", kernel);
  if (!section_named(elf, name, &shared)) return 0;
  uint64_t size = shared.sh_size;
  if (size >= RESERVED_SHARED_BYTES && section_named(elf, ".nv.shared.reserved.0", &reserved))
    size -= RESERVED_SHARED_BYTES;
  return (uint32_t)size;
}

lampar_status lampar_cubin_read(const void *bytes, size_t size, const char *kernel,
                                const char *file, lampar_cubin_facts *facts) {
  elf_view elf = {.bytes = bytes, .size = size};
  if (!copy(&elf, 0, &elf.header, sizeof elf.header) ||
      memcmp(elf.header.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.header.e_ident[EI_CLASS] != ELFCLASS64 ||
      (elf.header.e_machine != MACHINE_CUDA && elf.header.e_machine != MACHINE_HOST) ||
      elf.header.e_shentsize != sizeof(Elf64_Shdr))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: is not a cubin; compile its source again", file);

  /* A stripped shared object of arch emu has only the dynamic symbols. */
  const bool is_emulated = elf.header.e_machine == MACHINE_HOST;
  const uint32_t symbol = symbol_of(&elf, is_emulated ? ".dynsym" : ".symtab", kernel);
  if (symbol == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: has no kernel %s; compile its source again",
                       file, kernel);
  *facts = (lampar_cubin_facts){.is_emulated = is_emulated};
  if (is_emulated) return LAMPAR_OK;
  Elf64_Shdr info;
  facts->shared_bytes = shared_bytes_of(&elf, kernel);
  if (!section_named(&elf, ".nv.info", &info) ||
      !attribute_of(&elf, &info, ATTRIBUTE_REGISTERS, symbol, &facts->registers) ||
      !attribute_of(&elf, &info, ATTRIBUTE_FRAME_SIZE, symbol, &facts->stack_bytes))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "%s: has no resource usage of %s; compile its source again", file, kernel);
  return LAMPAR_OK;
}
