/** Long tasks report their progress here. `total` may grow while a task runs. */
export type Progress = (done: number, total: number, what: string) => void;
