// Limits of workflows. They keep one thread from costing the others their memory.

/** A garbage collection follows nodes up to twice this size, so it follows every node written here. */
export const NODE_BYTES_MAX: number = 8 * 1024 * 1024;
export const PROMPT_BYTES_MAX: number = 8 * 1024 * 1024;
export const META_BYTES_MAX: number = 256 * 1024;
export const SUMMARY_BYTES_MAX: number = 1024 * 1024;
export const CONTENT_REFS_MAX = 10_000;
/** The skip list of a state: this many ancestors behind its parent. */
export const ANCESTORS_MAX = 10;
export const ROUNDS_DEFAULT = 10;
export const ROUNDS_MAX = 1_000_000;
/** The limit for children of children: a deeper workflow calls itself for ever. */
export const DEPTH_MAX = 16;
export const STEPS_DEFAULT = 50;
export const STEPS_MAX = 1000;
export const LIST_DEFAULT = 50;
export const LIST_MAX = 10_000;
export const BUNDLE_BYTES_MAX: number = 4 * 1024 * 1024;
export const NAME_CHARS_MAX = 64;
