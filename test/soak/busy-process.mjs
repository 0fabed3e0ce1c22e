// Keeps a processor busy until it is killed, or its parent is gone.
const start = process.ppid;
while (process.ppid === start) for (let i = 0; i < 1e8; i += 1);
