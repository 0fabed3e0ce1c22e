import { openStore } from '../src/index.ts';
console.log(typeof openStore);
