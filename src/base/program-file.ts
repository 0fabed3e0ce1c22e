/**
 * The address of a file by its path in `dist`, for programs and threads that another file starts. This file is in
 * `base`, and bundled it is in `chunks`: one folder deep either way.
 */
export function programFile(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}
