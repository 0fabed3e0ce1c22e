/** Long work reports here; `total` may grow while it runs. */
export type Progress = (done: number, total: number, what: string) => void;
