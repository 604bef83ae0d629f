/* Facts of a cubin that is put together here, and of everything that damage can make of it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "pack/cubin.h"

static const char strings[] =
    "\0.strtab\0.symtab\0.nv.info\0.nv.shared.kernel\0.nv.shared.reserved.0\0"
    "kernel\0other";
enum { STRTAB = 1, SYMTAB, INFO, SHARED, RESERVED, SECTION_COUNT };

/* The order of the members is that of the file. */
typedef struct cubin_image {
  Elf64_Ehdr header;
  Elf64_Shdr sections[SECTION_COUNT];
  Elf64_Sym symbols[3];
  uint32_t info[12];
  char strings[sizeof strings];
} cubin_image;

/* Where a text is among the strings. */
static uint32_t at(const char *text) {
  for (uint32_t i = 0; i < sizeof strings; i += (uint32_t)strlen(strings + i) + 1)
    if (strcmp(strings + i, text) == 0) return i;
  fail();
  return 0;
}

static Elf64_Shdr section(const char *name, uint32_t type, size_t offset, size_t size) {
  return (Elf64_Shdr){.sh_name = at(name), .sh_type = type, .sh_offset = offset, .sh_size = size};
}

/* 40 registers and 16 bytes of stack for `kernel`, others for `other`, 48 bytes of shared memory.
 */
static cubin_image sound(void) {
  cubin_image image = {
      .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
                 .e_machine = 190,
                 .e_shoff = offsetof(cubin_image, sections),
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = SECTION_COUNT,
                 .e_shstrndx = STRTAB},
      /* Format 4, attribute, 8 bytes: symbol, value. Registers are 0x2f, the frame is 0x11. */
      .info = {0x00082f04, 1, 99, 0x00082f04, 2, 40, 0x00081104, 1, 8, 0x00081104, 2, 16},
  };
  memcpy(image.strings, strings, sizeof strings);
  image.symbols[1] = (Elf64_Sym){.st_name = at("other"), .st_info = STT_FUNC, .st_shndx = 1};
  image.symbols[2] = (Elf64_Sym){.st_name = at("kernel"), .st_info = STT_FUNC, .st_shndx = 1};
  image.sections[STRTAB] =
      section(".strtab", SHT_STRTAB, offsetof(cubin_image, strings), sizeof image.strings);
  image.sections[SYMTAB] =
      section(".symtab", SHT_SYMTAB, offsetof(cubin_image, symbols), sizeof image.symbols);
  image.sections[SYMTAB].sh_link = STRTAB;
  image.sections[INFO] =
      section(".nv.info", 0x70000000, offsetof(cubin_image, info), sizeof image.info);
  image.sections[SHARED] = section(".nv.shared.kernel", SHT_NOBITS, 0, 1024 + 48);
  image.sections[RESERVED] = section(".nv.shared.reserved.0", SHT_NOBITS, 0, 0);
  return image;
}

static void reads_the_kernel_that_is_named(void **state) {
  (void)state;
  const cubin_image image = sound();
  lampar_cubin_facts facts;
  assert_int_equal(lampar_cubin_read(&image, sizeof image, "kernel", "a.cubin", &facts), LAMPAR_OK);
  assert_int_equal(facts.registers, 40);
  assert_int_equal(facts.stack_bytes, 16);
  assert_int_equal(facts.shared_bytes, 48);
  assert_int_equal(lampar_cubin_read(&image, sizeof image, "other", "a.cubin", &facts), LAMPAR_OK);
  assert_int_equal(facts.registers, 99);
  assert_int_equal(facts.stack_bytes, 8);
  assert_int_equal(facts.shared_bytes, 0);
}

static void shared_memory_counts_whole_where_none_is_reserved(void **state) {
  (void)state;
  cubin_image image = sound();
  image.sections[RESERVED].sh_name = at(".symtab");
  lampar_cubin_facts facts;
  assert_int_equal(lampar_cubin_read(&image, sizeof image, "kernel", "a.cubin", &facts), LAMPAR_OK);
  assert_int_equal(facts.shared_bytes, 1024 + 48);
}

static void refuse(const cubin_image *image, const char *kernel, const char *word) {
  lampar_cubin_facts facts;
  assert_int_equal(lampar_cubin_read(image, sizeof *image, kernel, "a.cubin", &facts),
                   LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "a.cubin"));
  assert_non_null(strstr(lampar_last_error(), word));
}

static void what_is_missing_is_named(void **state) {
  (void)state;
  cubin_image image = sound();
  refuse(&image, "third", "third");
  image.symbols[2].st_shndx = SHN_UNDEF;
  refuse(&image, "kernel", "no kernel");
  image = sound();
  image.info[3] = 0x00083004;
  refuse(&image, "kernel", "has no resource usage");
  image = sound();
  image.header.e_machine = EM_S390; /* neither a GPU nor the host */
  refuse(&image, "kernel", "not a cubin");
}

/* The copy is exactly as long as what is read, so that a sanitiser sees every step beyond. */
static void read_copy(const void *bytes, size_t size) {
  void *const copy = malloc(size > 0 ? size : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  lampar_cubin_facts facts;
  const lampar_status status = lampar_cubin_read(copy, size, "kernel", "a.cubin", &facts);
  assert_true(status == LAMPAR_OK || status == LAMPAR_ERROR_ARGUMENT);
  free(copy);
}

static void damage_is_refused_or_harmless(void **state) {
  (void)state;
  const cubin_image image = sound();
  for (size_t size = 0; size <= sizeof image; ++size) read_copy(&image, size);
  for (size_t i = 0; i < sizeof image; ++i) {
    for (unsigned pattern = 1; pattern <= 0xff; pattern = pattern * 2 + 1) {
      cubin_image damaged = image;
      ((unsigned char *)&damaged)[i] ^= (unsigned char)pattern;
      read_copy(&damaged, sizeof damaged);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_kernel_that_is_named),
      cmocka_unit_test(shared_memory_counts_whole_where_none_is_reserved),
      cmocka_unit_test(what_is_missing_is_named),
      cmocka_unit_test(damage_is_refused_or_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
