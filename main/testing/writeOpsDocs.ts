/** `npm run ops:docs`: writes docs/ops.md from the op table. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { opsDocument } from "../ops/document.ts";
import { repositoryRoot } from "./oracleProcess.ts";

writeFileSync(join(repositoryRoot, "docs/ops.md"), opsDocument());
