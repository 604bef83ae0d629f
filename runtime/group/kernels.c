#include "group/kernels.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/error.h"
#include "pack/arch.h"

uint32_t lampar_kernels_arch(lampar_pack *const *packs, size_t pack_count, uint32_t capability,
                             uint32_t world) {
  uint32_t best = 0;
  for (size_t p = 0; p < pack_count; ++p)
    for (uint32_t i = 0; i < packs[p]->header->record_count; ++i) {
      const lampar_variant *v = &packs[p]->kernels[i].variant;
      const bool runs = lampar_arch_runs(v->arch, capability);
      if (runs && v->arch > best && (world == 0 || v->world == world)) best = v->arch;
    }
  return best;
}

static int compare_kernels(const void *a, const void *b) {
  return lampar_variant_compare(&((const lampar_kernel *)a)->packed->variant,
                                &((const lampar_kernel *)b)->packed->variant);
}

static bool is_listed(const lampar_kernels *kernels, size_t before, const lampar_variant *variant) {
  for (size_t i = 0; i < before; ++i)
    if (lampar_variant_compare(&kernels->list[i].packed->variant, variant) == 0) return true;
  return false;
}

lampar_status lampar_kernels_collect(lampar_kernels *kernels, lampar_pack *const *packs,
                                     size_t pack_count, uint32_t arch, uint32_t world,
                                     const char *names) {
  *kernels = (lampar_kernels){0};
  size_t most = 0;
  for (size_t p = 0; p < pack_count; ++p) most += packs[p]->header->record_count;
  kernels->list = calloc(most + 1, sizeof *kernels->list);
  kernels->variants = calloc(most + 1, sizeof *kernels->variants);
  if (kernels->list == NULL || kernels->variants == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu kernels", most);
  for (size_t p = 0; p < pack_count; ++p) {
    const size_t others = kernels->count; /* keys are unique within a pack */
    for (uint32_t i = 0; i < packs[p]->header->record_count; ++i) {
      const lampar_pack_kernel *packed = &packs[p]->kernels[i];
      if (packed->variant.arch != arch || packed->variant.world != world) continue;
      if (names[0] != '\0' && fnmatch(names, packed->record->name, 0) != 0) continue;
      if (is_listed(kernels, others, &packed->variant)) continue;
      kernels->list[kernels->count++] = (lampar_kernel){.packed = packed};
    }
  }
  qsort(kernels->list, kernels->count, sizeof *kernels->list, compare_kernels);
  for (size_t i = 0; i < kernels->count; ++i)
    kernels->variants[i] = &kernels->list[i].packed->variant;
  return LAMPAR_OK;
}

lampar_launch_attribute lampar_cluster_attribute(uint32_t blocks) {
  return (lampar_launch_attribute){.id = LAMPAR_LAUNCH_CLUSTER_DIMENSION,
                                   .value = {.cluster_dimension = {blocks, 1, 1}}};
}

static lampar_status count_resident(lampar_kernel *kernel, const lampar_driver *driver,
                                    int multiprocessors, uint32_t ranks_on_device) {
  const lampar_variant *variant = &kernel->packed->variant;
  int count;
  if (variant->cluster > 1) {
    lampar_launch_attribute attribute = lampar_cluster_attribute(variant->cluster);
    const lampar_launch_config config = {.grid_x = variant->cluster,
                                         .grid_y = 1,
                                         .grid_z = 1,
                                         .block_x = variant->threads,
                                         .block_y = 1,
                                         .block_z = 1,
                                         .attributes = &attribute,
                                         .attribute_count = 1};
    LAMPAR_TRY(lampar_driver_check(driver,
                                   driver->occupancy_clusters(&count, kernel->function, &config),
                                   kernel->packed->record->name));
  } else {
    LAMPAR_TRY(lampar_driver_check(
        driver, driver->occupancy_blocks(&count, kernel->function, (int)variant->threads, 0),
        kernel->packed->record->name));
    count *= multiprocessors;
  }
  /* Kernels of several ranks have different shapes and leave gaps between them: half always fits.
   */
  const uint32_t own = (uint32_t)count / (ranks_on_device > 1 ? 2 * ranks_on_device : 1);
  kernel->resident = own > 0 ? own : 1;
  return LAMPAR_OK;
}

static lampar_status load(lampar_kernel *kernel, const lampar_driver *driver, int multiprocessors,
                          uint32_t ranks_on_device) {
  const char *const name = kernel->packed->record->name;
  struct CUkern_st *handle;
  LAMPAR_TRY(lampar_driver_check(
      driver,
      driver->library_load(&kernel->library, kernel->packed->code, NULL, NULL, 0, NULL, NULL, 0),
      name));
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->library_kernel(&handle, kernel->library, name), name));
  LAMPAR_TRY(lampar_driver_check(driver, driver->kernel_function(&kernel->function, handle), name));
  /* Load now: a lazy load at the first launch would wait for kernels that spin. */
  LAMPAR_TRY(lampar_driver_check(driver, driver->function_load(kernel->function), name));
  return count_resident(kernel, driver, multiprocessors, ranks_on_device);
}

lampar_status lampar_kernels_load(lampar_kernels *kernels, const lampar_driver *driver,
                                  int multiprocessors, uint32_t ranks_on_device) {
  for (size_t i = 0; i < kernels->count; ++i)
    LAMPAR_TRY(load(&kernels->list[i], driver, multiprocessors, ranks_on_device));
  return LAMPAR_OK;
}

void lampar_kernels_free(lampar_kernels *kernels, const lampar_driver *driver) {
  for (size_t i = 0; i < kernels->count; ++i)
    if (kernels->list[i].library != NULL) driver->library_unload(kernels->list[i].library);
  free(kernels->list);
  free(kernels->variants);
  *kernels = (lampar_kernels){0};
}
