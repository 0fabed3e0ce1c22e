/** The size of one page of a copy: the number of events, and about the number of bytes of their contents. */
export const COPY_PAGE: { readonly limit: number; readonly maxBytes: number } = {
  limit: 2000,
  maxBytes: 4 << 20,
};
