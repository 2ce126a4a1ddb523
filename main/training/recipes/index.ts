/** The recipes, one line each, in the order in which they are shown. */
import { charactersRecipe } from "./characters.ts";
import { digitsRecipe } from "./digits.ts";
import { fullRecipe } from "./full.ts";
import { graphRecipe } from "./graph.ts";
import { linearRecipe } from "./linear.ts";
import { loraRecipe } from "./lora.ts";
import type { Recipe } from "./recipe.ts";

export const RECIPES: readonly Recipe[] = [
  linearRecipe,
  digitsRecipe,
  charactersRecipe,
  graphRecipe,
  loraRecipe,
  fullRecipe,
];
